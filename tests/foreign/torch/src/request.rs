//! [`Request`]: the tensors of a request in buffers; [`Arguments`]: what a call takes of them. What a request lacks is a mistake of
//! the program that asks, and ends this one.

use std::collections::BTreeMap;
use std::io::{self, Read};

use metal_bridge::ops::{DataType, Tensor, View};
use metal_bridge::{Buffer, MetalBackend, Result, StorageMode};
use serde_json::Value;

pub struct Request {
    tensors: Vec<Described>,
}

struct Described {
    name: String,
    buffer: Buffer,
    bytes: usize,
    is_written: bool,
}

impl Request {
    /// Reads the bytes behind the header.
    pub fn read(
        backend: &MetalBackend,
        header: &Value,
        input: &mut impl Read,
    ) -> io::Result<Request> {
        let list = header["tensors"].as_array().expect("tensors");
        let tensors = list.iter().map(|tensor| {
            let bytes = number(&tensor["bytes"]);
            // Metal has no buffers without bytes.
            let mut contents = vec![0u8; bytes.max(1)];
            input.read_exact(&mut contents[..bytes])?;
            let buffer = backend.create_buffer_with_data(&contents, StorageMode::Shared);
            Ok(Described {
                name: tensor["name"].as_str().expect("a name").to_owned(),
                buffer: buffer.map_err(io::Error::other)?,
                bytes,
                is_written: tensor["written"].as_bool().expect("a truth value"),
            })
        });
        Ok(Request {
            tensors: tensors.collect::<io::Result<_>>()?,
        })
    }

    pub fn arguments<'a>(&'a self, header: &'a Value) -> Result<Arguments<'a>> {
        let list = header["tensors"].as_array().expect("tensors");
        let mut tensors = BTreeMap::new();
        for (described, tensor) in self.tensors.iter().zip(list) {
            let name = tensor["type"].as_str();
            let data_type = DataType::ALL
                .into_iter()
                .find(|one| Some(one.name()) == name);
            let data_type = data_type.expect("a type");
            let offset = number(&tensor["offset"]) * data_type.size();
            let (shape, strides) = (numbers(&tensor["shape"]), numbers(&tensor["strides"]));
            let view = View::new(&described.buffer, offset);
            let tensor = Tensor::strided(view, data_type, &shape, &strides)?;
            tensors.insert(described.name.as_str(), tensor);
        }
        Ok(Arguments {
            tensors,
            values: &header["arguments"],
        })
    }

    pub fn written(&self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        for tensor in self.tensors.iter().filter(|tensor| tensor.is_written) {
            all.extend_from_slice(&tensor.buffer.wait_read::<u8>()?[..tensor.bytes]);
        }
        Ok(all)
    }
}

pub struct Arguments<'a> {
    tensors: BTreeMap<&'a str, Tensor<'a>>,
    values: &'a Value,
}

impl<'a> Arguments<'a> {
    pub fn tensor(&self, name: &str) -> Tensor<'a> {
        let tensor = self.given(name);
        tensor.unwrap_or_else(|| panic!("no tensor {name}"))
    }

    pub fn given(&self, name: &str) -> Option<Tensor<'a>> {
        self.tensors.get(name).copied()
    }

    /// `x0`, `x1` and so on.
    pub fn list(&self) -> Vec<Tensor<'a>> {
        (0..)
            .map_while(|index| self.given(&format!("x{index}")))
            .collect()
    }

    pub fn number(&self, name: &str) -> usize {
        number(&self.values[name])
    }

    pub fn integer(&self, name: &str) -> i64 {
        self.values[name].as_i64().expect("an integer")
    }

    pub fn numbers(&self, name: &str) -> Vec<usize> {
        numbers(&self.values[name])
    }

    /// Numbers of each spatial dimension.
    pub fn each<const D: usize>(&self, name: &str) -> [usize; D] {
        let numbers = self.numbers(name);
        numbers.try_into().expect("as many as dimensions")
    }

    pub fn pairs(&self, name: &str) -> Vec<[usize; 2]> {
        let pairs = self.values[name].as_array().expect("pairs").iter();
        pairs
            .map(|pair| numbers(pair).try_into().expect("two numbers"))
            .collect()
    }

    pub fn float(&self, name: &str) -> Option<f32> {
        self.values[name].as_f64().map(|number| number as f32)
    }

    /// A number as the element of a type, which it fits.
    pub fn bits(&self, name: &str) -> Option<f64> {
        self.values[name].as_f64()
    }

    pub fn is(&self, name: &str) -> bool {
        self.values[name].as_bool().unwrap_or_default()
    }

    /// The one of `all` whose name the request gives.
    pub fn one_of<T: Copy + std::fmt::Debug>(&self, name: &str, all: &[T]) -> T {
        let wanted = self.values[name].as_str().expect("a name");
        let is_it = |one: &&T| format!("{one:?}").split([' ', '(']).next() == Some(wanted);
        *all.iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{wanted} is not one of {all:?}"))
    }
}

fn number(value: &Value) -> usize {
    value.as_u64().expect("a number") as usize
}

fn numbers(value: &Value) -> Vec<usize> {
    value
        .as_array()
        .expect("numbers")
        .iter()
        .map(number)
        .collect()
}
