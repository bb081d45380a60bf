"""Records what the reference tokenizers make of some texts, for tests/tokenizer.rs.

Usage: python make_vectors.py OUT_DIR
SentencePiece encodes with the shipped model's vocabulary; Hugging Face's `tokenizers` with a byte-level vocabulary that
this script trains on the stories' grammar and the texts below, once for each pre-tokenizer pattern, which are those of
the models' own tokenizer.json files. Needs sentencepiece 0.2, tokenizers 0.23, transformers 5 and protobuf; the numbers are
theirs, not ours.

vectors.json has the answers. sentencepiece.json and byte_level.json are the tokenizer.json files of the shipped vocabulary and of
the trained one, the latter with Llama 3's pattern and the control and user-defined tokens of tests/tokenizer.rs.
"""
import json
import pathlib
import random
import sys

import sentencepiece as spm
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaTokenizer

here = pathlib.Path(__file__).parent
shipped = here.parents[4] / "models" / "tiny-stories"
sys.path.insert(0, str(shipped))
from stories import story  # noqa: E402

TEXTS = [
    "", " ", "  ", "   ", "\t", "\n", "\n\n", " \n  \n\t x", "Once upon a time", " Once upon a time", "  two  spaces  ",
    "Hello, world!", "it's we'll I'D don't", "x=1+22*333-4444/55555", "3.14159 and 1,000,000", "tabs\tand\r\nlines\n",
    "naïve café Ünïcode", "Привет, мир", "你好，世界", "日本語のテキスト", "नमस्ते", "مرحبا", "🦀 crab 👩‍👩‍👧 family", "\u0301e\u0301",
    "a\u00a0b\u2003c", "▁underline▁", "<s> </s> <unk>", "<|end|>", "<0x41>", "mixed日本and英語", "ALLCAPS camelCase snake_case",
    "!!!???...", "'", "''s", "fn main() { println!(\"{}\", 1); }", "e" * 70, "ab" * 33, "\x00\x01\x7f",
]
# Where the patterns end words in different places.
ENDS = [
    "it's WE'LL don'tX 'Tis I'm we've They'RE he'd", "camelCase HTMLPage parseXMLHttp iOS", "a/b\n/c !/\n/x ./\r\n", "1234567 12 345",
    "e\u0301A\u0301b \u0301", "नमस्ते Ünïcode", "日本Abc", "ǅx ʰa xʰA",
]
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
CASED = [r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]" + word for word in
         (r"*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+", r"+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*")]
MODERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {
    "gpt-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama-bpe": CONTRACTIONS + MODERN % r"\p{N}{1,3}",
    "qwen2": CONTRACTIONS + MODERN % r"\p{N}",
    "gpt-4o": "".join(word + CONTRACTIONS[:-1] + "?|" for word in CASED)
              + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


def byte_level(pattern, model):
    t = Tokenizer(model)
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    return t


def byte_pairs(pre_tokenizer, corpus, texts, vocab_size):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizer
    t.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    trained = json.loads(t.to_str())["model"]

    def encode(name):
        model = models.BPE(
            trained["vocab"], [tuple(m) for m in trained["merges"]], ignore_merges=name == "llama-bpe")
        t = byte_level(PATTERNS[name], model)
        return [t.encode(text).ids for text in texts]

    return {
        "vocabulary": sorted(trained["vocab"], key=trained["vocab"].get),
        "merges": [" ".join(m) for m in trained["merges"]],
        "byte_pair": {name: encode(name) for name in PATTERNS},
    }


r = random.Random(7)
corpus = [story(r) for _ in range(300)] + TEXTS * 20
sp = spm.SentencePieceProcessor(model_file=str(shipped / "tokenizer.model"))
whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
words = byte_pairs(byte_level(PATTERNS["gpt-2"], models.BPE()).pre_tokenizer, corpus, TEXTS, 700)
vectors = {
    "texts": TEXTS,
    "sentencepiece": [sp.encode(text) for text in TEXTS],
    **words,
    # Merges across words: without the pattern every text would be one token.
    "across_words": {"texts": ENDS, **byte_pairs(whole, ENDS * 20, ENDS, 600)},
}
out = pathlib.Path(sys.argv[1])
(out / "vectors.json").write_text(json.dumps(vectors, ensure_ascii=True, separators=(",", ":")) + "\n")

llama = LlamaTokenizer.from_pretrained(shipped, add_bos_token=True)
(out / "sentencepiece.json").write_text(llama.backend_tokenizer.to_str() + "\n")
vocabulary = {text: i for i, text in enumerate(words["vocabulary"])}
merges = [tuple(merge.split(" ")) for merge in words["merges"]]
t = byte_level(PATTERNS["llama-bpe"], models.BPE(vocabulary, merges, ignore_merges=True))
t.add_special_tokens([AddedToken(text, special=True) for text in ("<|begin|>", "<|eot_id|>")])
t.add_tokens([AddedToken(text) for text in ("<tag>", "<tag>x", "<end_of_turn>")])
t.post_processor = processors.Sequence([
    processors.ByteLevel(trim_offsets=False),
    processors.TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", len(vocabulary))])])
(out / "byte_level.json").write_text(t.to_str() + "\n")
