"""Makes the fixtures of crates/llama/tests/engine/architectures.rs: tiny random models, and the logits that Hugging Face's
own implementation gives in float64.

Usage: python make.py OUT_DIR [NAME...]
Needs torch, transformers 5, gguf, numpy, safetensors, tokenizers.

NAME.gguf has the weights in F32, with the names and keys that llama.cpp's converter writes. NAME.safetensors has for each
text its tokens, the context of the session that reads it, and the logits after each token. NAME/ is the same model as
`save_pretrained` writes it, for some of them in several files.
"""
import sys
from pathlib import Path
from zlib import crc32

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType
from gguf.quants import dequantize, quantize
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, processors

# transformers computes norms, softmax and rotary embeddings in float32 whatever the model has: here float32 is float64.
torch.float32 = torch.float = torch.float64
torch.Tensor.float = torch.Tensor.double
torch.set_default_dtype(torch.float64)

import transformers as hf  # noqa: E402

VOCABULARY = 64
TOKENS = ["<unk>", "<s>", "</s>"] + [chr(0x21 + i) for i in range(VOCABULARY - 3)]
MXFP4 = GGMLQuantizationType.MXFP4
TEXT = 24

LAYER = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.qkv_proj": "attn_qkv", "self_attn.o_proj": "attn_output",
    "self_attn.sinks": "attn_sinks", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.gate_up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "mlp.gate": "ffn_gate_inp", "mlp.router": "ffn_gate_inp",
}
# Gemma norms what layers add to the residual stream, under the name that others have for the next norm.
GEMMA_LAYER = LAYER | {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
# gpt-oss has only one name for it.
GPT_OSS_LAYER = LAYER | {"post_attention_layernorm": "post_attention_norm"}
OUTSIDE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def rope(kind="default", theta=10_000.0, **rest):
    return {"rope_type": kind, "rope_theta": theta} | rest


def llama_3_divisors(config):
    """What llama.cpp's converter makes of Llama 3's scaling: a divisor for each pair."""
    r, half = config.rope_parameters, config.head_dim // 2
    divisors = []
    for i in range(half):
        turns = r["original_max_position_embeddings"] * r["rope_theta"] ** (-i / half) / (2 * np.pi)
        low, high = r["low_freq_factor"], r["high_freq_factor"]
        smooth = np.clip((turns - low) / (high - low), 0, 1)
        divisors.append(1 / ((1 - smooth) / r["factor"] + smooth))
    return np.array(divisors, np.float32)


def scaling(w, config):
    r = config.rope_parameters
    kind = r["rope_type"]
    if kind in ("linear", "yarn"):
        w.add_rope_scaling_type(gguf.RopeScalingType(kind))
        w.add_rope_scaling_factor(r["factor"])
    if kind == "yarn":
        w.add_rope_scaling_orig_ctx_len(r["original_max_position_embeddings"])
    if kind == "llama3":
        w.add_tensor("rope_freqs.weight", llama_3_divisors(config))


def window(w, config):
    w.add_sliding_window(config.sliding_window)


def granite(w, config):
    w.add_attention_scale(config.attention_multiplier)
    w.add_embedding_scale(config.embedding_multiplier)
    w.add_residual_scale(config.residual_multiplier)
    w.add_logit_scale(config.logits_scaling)


def phi3(w, config):
    r, original = config.rope_parameters, config.original_max_position_embeddings
    window(w, config)
    w.add_rope_scaling_orig_ctx_len(original)
    w.add_rope_scaling_attn_factors(np.sqrt(1 + np.log(config.max_position_embeddings / original) / np.log(original)))
    for kind in ("long", "short"):
        w.add_tensor(f"rope_factors_{kind}.weight", np.array(r[f"{kind}_factor"], np.float32))


def experts(w, config):
    w.add_expert_count(getattr(config, "num_experts", None) or config.num_local_experts)
    w.add_expert_used_count(config.num_experts_per_tok)
    if length := getattr(config, "moe_intermediate_size", None):
        w.add_expert_feed_forward_length(length)


def gpt_oss(w, config):
    window(w, config)
    experts(w, config)
    scaling(w, config)
    w.add_expert_feed_forward_length(config.intermediate_size)


def gemma2(w, config):
    window(w, config)
    w.add_attn_logit_softcapping(config.attn_logit_softcapping)
    w.add_final_logit_softcapping(config.final_logit_softcapping)


def gemma3(w, config):
    window(w, config)
    full = config.rope_parameters["full_attention"]
    w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    w.add_rope_scaling_factor(full["factor"])


COMMON = dict(vocab_size=VOCABULARY, hidden_size=36, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3,
              num_key_value_heads=1, head_dim=32, max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=False,
              bos_token_id=1, eos_token_id=2, pad_token_id=0)
PHI_PAIRS = 12

# Name: the class of the model, its configuration, the architecture in GGUF, and what else the file has.
MODELS = {
    "llama3": (hf.LlamaForCausalLM, hf.LlamaConfig(**COMMON | dict(
        rope_parameters=rope("llama3", 500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=16), attention_bias=True, mlp_bias=True)), "llama", scaling),
    "llama-linear": (hf.LlamaForCausalLM, hf.LlamaConfig(**COMMON | dict(
        rope_parameters=rope("linear", factor=4.0), hidden_size=40, head_dim=12, num_attention_heads=5)), "llama", scaling),
    "llama-yarn": (hf.LlamaForCausalLM, hf.LlamaConfig(**COMMON | dict(
        rope_parameters=rope("yarn", 1000.0, factor=4.0, original_max_position_embeddings=16))), "llama", scaling),
    "mistral": (hf.MistralForCausalLM, hf.MistralConfig(**COMMON | dict(
        rope_parameters=rope(), sliding_window=7)), "llama", window),
    "qwen2": (hf.Qwen2ForCausalLM, hf.Qwen2Config(**COMMON | dict(
        rope_parameters=rope(theta=1e6), head_dim=16, tie_word_embeddings=True)), "qwen2", None),
    "qwen3": (hf.Qwen3ForCausalLM, hf.Qwen3Config(**COMMON | dict(rope_parameters=rope(theta=1e6))), "qwen3", None),
    "mixtral": (hf.MixtralForCausalLM, hf.MixtralConfig(**COMMON | dict(
        rope_parameters=rope(theta=1e6), intermediate_size=16, num_local_experts=5, num_experts_per_tok=2,
        sliding_window=None)), "llama", experts),
    "qwen3moe": (hf.Qwen3MoeForCausalLM, hf.Qwen3MoeConfig(**COMMON | dict(
        rope_parameters=rope(theta=1e6), head_dim=16, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=12,
        norm_topk_prob=True)), "qwen3moe", experts),
    "gpt-oss": (hf.GptOssForCausalLM, hf.GptOssConfig(**COMMON | dict(
        rope_parameters=rope("yarn", 1000.0, factor=4.0, original_max_position_embeddings=16, truncate=False),
        hidden_size=32, intermediate_size=32, num_local_experts=5, num_experts_per_tok=2, sliding_window=7,
        layer_types=["sliding_attention", "full_attention"])), "gpt-oss", gpt_oss),
    "smollm3": (hf.SmolLM3ForCausalLM, hf.SmolLM3Config(**COMMON | dict(
        rope_parameters=rope(theta=5e6), hidden_size=32, intermediate_size=36, num_hidden_layers=4, head_dim=16,
        num_attention_heads=2)), "smollm3", None),
    "granite": (hf.GraniteForCausalLM, hf.GraniteConfig(**COMMON | dict(
        rope_parameters=rope(), attention_multiplier=0.11, embedding_multiplier=6.0,
        residual_multiplier=0.3, logits_scaling=3.0, tie_word_embeddings=True)), "granite", granite),
    "phi3": (hf.Phi3ForCausalLM, hf.Phi3Config(**COMMON | dict(
        hidden_size=64, num_attention_heads=2, intermediate_size=16, original_max_position_embeddings=16, sliding_window=11,
        rope_parameters=rope("longrope", partial_rotary_factor=0.75, original_max_position_embeddings=16,
                             short_factor=[1 + 0.05 * i for i in range(PHI_PAIRS)],
                             long_factor=[1 + 0.4 * i for i in range(PHI_PAIRS)]),
        partial_rotary_factor=0.75)), "phi3", phi3),
    "gemma2": (hf.Gemma2ForCausalLM, hf.Gemma2Config(**COMMON | dict(
        rope_parameters=rope(), sliding_window=7, num_hidden_layers=2, attn_logit_softcapping=5.0,
        final_logit_softcapping=3.0, query_pre_attn_scalar=32, tie_word_embeddings=True)), "gemma2", gemma2),
    "gemma3": (hf.Gemma3ForCausalLM, hf.Gemma3TextConfig(**COMMON | dict(
        hidden_size=16, intermediate_size=20, num_hidden_layers=6, num_attention_heads=2, sliding_window=7,
        query_pre_attn_scalar=32, tie_word_embeddings=True,
        rope_parameters={"sliding_attention": rope(theta=10_000.0),
                         "full_attention": rope("linear", theta=1e6, factor=8.0)})), "gemma3", gemma3),
}
INTERLEAVED = {"llama", "smollm3", "granite"}
# Those that have a directory, too, and the size of its files.
DIRECTORIES = {"llama3": "150KB", "mistral": None, "mixtral": "200KB", "qwen2": None, "qwen3": None, "qwen3moe": None, "smollm3": None,
               "granite": None, "phi3": None, "gemma2": None, "gemma3": None}


def is_mxfp4(name, arch):
    """Whether it is a matrix of gpt-oss's experts."""
    return arch == "gpt-oss" and name.endswith(("experts.gate_up_proj", "experts.down_proj"))


def mxfp4(t):
    """Matrices whose columns are the second dimension, as blocks along the columns."""
    return quantize(np.ascontiguousarray(t.mT.numpy(), np.float32), MXFP4)


def randomize(model, arch):
    """Fills all weights with random numbers that float32 holds: norms and biases too, which would hide mistakes."""
    for name, p in model.named_parameters():
        if p.ndim > 1:
            value = torch.randn(p.shape) * (1.2 / p.shape[-1] ** 0.5 if "embed" not in name else 1.0)
        elif name.endswith(("bias", "sinks")):
            value = torch.randn(p.shape) * 0.4
        else:
            value = torch.randn(p.shape) * 0.3 + (0 if "gemma" in arch else 1)
        if is_mxfp4(name, arch):
            value = torch.from_numpy(dequantize(mxfp4(value), MXFP4)).mT
        p.data = torch.from_numpy(value.numpy().astype(np.float32).astype(np.float64))


def interleaved(t, heads):
    """Hugging Face keeps a head's rotary pairs half a head apart; these files keep them side by side."""
    return t.reshape(heads, 2, t.shape[0] // heads // 2, *t.shape[1:]).swapaxes(1, 2).reshape(t.shape)


def gpt_oss_experts(layer, kind, t):
    """Rows of gate and up take turns, and matrices lie the other way round."""
    part, _, is_bias = kind.partition("_proj")
    parts = [("gate", t[..., ::2]), ("up", t[..., 1::2])] if part == "gate_up" else [(part, t)]
    for part, t in parts:
        name = f"blk.{layer}.ffn_{part}_exps"
        if is_bias:
            yield f"{name}.bias", t.astype(np.float32)
        else:
            yield f"{name}.weight", mxfp4(torch.from_numpy(t.copy()))


def tensors(model, arch):
    config = model.config
    layer_names = GEMMA_LAYER if "gemma" in arch else GPT_OSS_LAYER if arch == "gpt-oss" else LAYER
    for name, t in model.state_dict().items():
        stem, kind = name.rsplit(".", 1)
        t = t.numpy()
        if stem == "lm_head" and config.tie_word_embeddings:
            continue
        if stem in OUTSIDE:
            stem = OUTSIDE[stem]
        else:
            _, _, layer, part = stem.split(".", 3)
            if part == "mlp.experts" and arch == "gpt-oss":
                yield from gpt_oss_experts(layer, kind, t)
                continue
            if part == "self_attn":
                part, kind = "self_attn.sinks", "weight"
            if part == "mlp.experts":
                parts = np.split(t, 2, axis=1) if kind == "gate_up_proj" else [t]
                for t, part in zip(parts, ["ffn_gate_exps", "ffn_up_exps"] if len(parts) == 2 else ["ffn_down_exps"]):
                    yield f"blk.{layer}.{part}.weight", t.astype(np.float32)
                continue
            if arch in INTERLEAVED and part in ("self_attn.q_proj", "self_attn.k_proj"):
                t = interleaved(t, config.num_attention_heads if "q_proj" in part else config.num_key_value_heads)
            stem = f"blk.{layer}.{layer_names[part]}"
        if "gemma" in arch and stem.endswith("norm"):
            t = t + 1
        yield f"{stem}.{kind}", t.astype(np.float32)


def write(path, model, arch, extra):
    c, w = model.config, gguf.GGUFWriter(path, arch)
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_block_count(c.num_hidden_layers)
    w.add_feed_forward_length(c.intermediate_size)
    w.add_head_count(c.num_attention_heads)
    w.add_head_count_kv(c.num_key_value_heads)
    w.add_layer_norm_rms_eps(c.rms_norm_eps)
    w.add_vocab_size(VOCABULARY)
    size = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
    w.add_key_length(size)
    w.add_value_length(size)
    parameters = c.rope_parameters.get("full_attention", c.rope_parameters)
    w.add_rope_freq_base(parameters["rope_theta"])
    if "gemma" not in arch:
        w.add_rope_dimension_count(int(size * parameters.get("partial_rotary_factor", 1)))
    if extra:
        extra(w, c)
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    w.add_tokenizer_model("llama")
    w.add_token_list(TOKENS)
    w.add_token_scores([0.0] * VOCABULARY)
    w.add_token_types(kinds + [gguf.TokenType.NORMAL] * (VOCABULARY - 3))
    for name, t in tensors(model, arch):
        w.add_tensor(name, t, raw_dtype=MXFP4 if t.dtype == np.uint8 else None)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def save_float32(tensors, filename, metadata=None):
    save_file({name: t.numpy().astype(np.float32) for name, t in tensors.items()}, filename, metadata)


def directory(path, model, size):
    """Hugging Face's own form, but for the elements, which are F32."""
    hf.modeling_utils.safe_save_file = save_float32
    model.save_pretrained(path, **{"max_shard_size": size} if size else {})
    (path / "generation_config.json").unlink(missing_ok=True)
    t = Tokenizer(models.BPE({text: i for i, text in enumerate(TOKENS)}, [], unk_token="<unk>", byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    fast = hf.PreTrainedTokenizerFast(tokenizer_object=t, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    fast.save_pretrained(path)


def main(out, *names):
    for name, (kind, config, arch, extra) in MODELS.items():
        if names and name not in names:
            continue
        torch.manual_seed(crc32(name.encode()))
        config._attn_implementation = config._experts_implementation = "eager"
        model = kind(config).eval()
        randomize(model, arch)
        write(Path(out) / f"{name}.gguf", model, arch, extra)
        if name in DIRECTORIES:
            directory(Path(out) / name, model, DIRECTORIES[name])
        # A second text for a session whose context is the original one: other divisors.
        texts = [(TEXT, config.max_position_embeddings)]
        if name == "phi3":
            texts.append((14, config.original_max_position_embeddings))
        recorded = {}
        for index, (length, context) in enumerate(texts):
            tokens = torch.randint(VOCABULARY, (1, length))
            with torch.no_grad():
                logits = model(tokens, use_cache=False).logits[0]
            assert logits.dtype == torch.float64
            recorded[f"tokens.{index}"] = tokens[0].numpy().astype(np.int32)
            recorded[f"context.{index}"] = np.array([context], np.int32)
            recorded[f"logits.{index}"] = logits.numpy().astype(np.float32)
        save_file(recorded, Path(out) / f"{name}.safetensors")
        print(name, *(tuple(t.shape) for t in recorded.values()), float(logits.std()))


main(*sys.argv[1:])
