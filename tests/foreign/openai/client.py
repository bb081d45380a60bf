#!/usr/bin/env python3
"""OpenAI's own client asks `metal-bridge serve`, on each path of OpenAI's interface that the server has.

Usage: client.py PROGRAM MODEL TEMPLATE
"""

import asyncio
import math
import os
import subprocess
import sys

import openai
from pydantic import BaseModel

KEY = "sk-secret"
PROMPT = "Once upon a time"


class Animal(BaseModel):
    name: str
    legs: int


def models(client):
    (model,) = client.models.list()
    assert client.models.retrieve(model.id) == model
    assert refused(openai.NotFoundError, lambda: client.models.retrieve("another")).status_code == 404
    return model.id


def completions(client, model):
    whole = client.completions.create(model=model, prompt=PROMPT, max_tokens=12, temperature=0)
    (choice,) = whole.choices
    assert choice.text and choice.finish_reason == "length", choice
    assert whole.usage.completion_tokens == 12 and whole.usage.total_tokens == whole.usage.prompt_tokens + 12
    pieces = client.completions.create(model=model, prompt=PROMPT, max_tokens=12, temperature=0, stream=True)
    assert "".join(piece.choices[0].text for piece in pieces) == choice.text
    word = choice.text.split()[2]
    stopped = client.completions.create(model=model, prompt=PROMPT, max_tokens=12, temperature=0, stop=[word])
    assert stopped.choices[0].text == choice.text[: choice.text.index(word)], stopped
    assert stopped.choices[0].finish_reason == "stop"

    def likely():
        asked = client.completions.create(model=model, prompt=PROMPT, max_tokens=3, temperature=0, logprobs=2)
        return asked.choices[0].logprobs

    said = likely()
    assert len(said.tokens) == len(said.token_logprobs) == len(said.top_logprobs) == 3, said
    assert all(value <= 0 and len(top) >= 2 for value, top in zip(said.token_logprobs, said.top_logprobs))
    assert said == likely()


def chats(client, model):
    def ask(**options):
        messages = [{"role": "system", "content": "A story."}, {"role": "user", "content": PROMPT}]
        return client.chat.completions.create(model=model, messages=messages, max_completion_tokens=16, **options)

    text = ask(temperature=0).choices[0].message.content
    assert text and ask(temperature=0).choices[0].message.content == text
    pieces = list(ask(temperature=0, stream=True, stream_options={"include_usage": True}))
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices) == text
    assert pieces[0].choices[0].delta.role == "assistant"
    assert pieces[-1].usage.completion_tokens == 16 and not pieces[-1].choices
    drawn = [ask(temperature=1.5, seed=seed).choices[0].message.content for seed in (7, 7, 8)]
    assert drawn[0] == drawn[1] != drawn[2], drawn
    tokens = ask(temperature=0, logprobs=True, top_logprobs=3).choices[0].logprobs.content
    assert len(tokens) == 16 and all(len(token.top_logprobs) == 3 for token in tokens)
    assert bytes(byte for token in tokens for byte in token.bytes).decode() == text
    # The client's own way to put a stream together fails on a text that is cut off by `max_tokens`.
    asked = {"model": model, "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 100, "stop": ["."]}
    with client.chat.completions.stream(**asked) as stream:
        assert stream.get_final_completion().choices[0].finish_reason == "stop"


def schemas(client, model):
    """The answer has the form of a class, however little the model knows of it."""
    messages = [{"role": "user", "content": "A cat"}]
    answer = client.chat.completions.parse(
        model=model, messages=messages, response_format=Animal, max_tokens=100, temperature=0
    )
    animal = answer.choices[0].message.parsed
    assert isinstance(animal, Animal), answer


def embeddings(client, model):
    texts = ["a cat", "a dog", "a cat"]
    # The client asks for base64 by itself, and decodes it.
    vectors = [item.embedding for item in client.embeddings.create(model=model, input=texts).data]
    plain = client.embeddings.create(model=model, input=texts, encoding_format="float")
    assert vectors == [[float(number) for number in item.embedding] for item in plain.data]
    assert vectors[0] == vectors[2] != vectors[1]
    assert all(math.isclose(math.hypot(*vector), 1, rel_tol=1e-4) for vector in vectors)


def refused(kind, call):
    try:
        answer = call()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__} but {answer}")


def errors(client, model):
    stranger = client.with_options(api_key="sk-wrong", max_retries=0)
    refused(openai.AuthenticationError, lambda: stranger.models.list())

    def ask(**options):
        options = {"model": model, "prompt": PROMPT, "max_tokens": 4} | options
        return client.completions.create(**options)

    for param, value in [("temperature", -1), ("max_tokens", -1), ("logprobs", 99), ("n", 0), ("stop", 7), ("prompt", {})]:
        error = refused(openai.BadRequestError, lambda: ask(**{param: value}))
        assert error.param == param and error.type == "invalid_request_error" and error.body["message"], (param, error)
    refused(openai.NotFoundError, lambda: ask(model="another"))
    refused(openai.BadRequestError, lambda: ask(prompt="cat " * 100000))


async def together(address, model):
    """Many at a time, of whom some go away in the middle: the others' answers are whole."""
    client = openai.AsyncOpenAI(base_url=f"{address}/v1", api_key=KEY)

    async def ask(number):
        stream = await client.completions.create(
            model=model, prompt=PROMPT, max_tokens=40, temperature=0, stream=True
        )
        text = ""
        async for piece in stream:
            text += piece.choices[0].text
            if number % 3 == 0:
                await stream.close()
                return None
        return text

    texts = await asyncio.gather(*(ask(number) for number in range(24)))
    await client.close()
    whole = [text for text in texts if text is not None]
    assert len(whole) == 16 and len(set(whole)) == 1, set(whole)


def main():
    program, model, template = sys.argv[1:]
    # What one text is among others: bit for bit what it is alone.
    options = ["--template", template, "--port", "0", "--slots", "4", "--deterministic"]
    server = subprocess.Popen(
        [program, "serve", "--model", model, *options],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "METAL_BRIDGE_API_KEY": KEY},
    )
    try:
        address = server.stdout.readline().split(" at ")[1].strip()
        client = openai.OpenAI(base_url=f"{address}/v1", api_key=KEY)
        name = models(client)
        for check in (completions, chats, schemas, embeddings, errors):
            check(client, name)
            print(f"{check.__name__}: as the client expects", flush=True)
        asyncio.run(together(address, name))
        print("together: as the client expects")
    finally:
        server.terminate()
        assert server.wait(timeout=60) == 0
    print(f"openai {openai.__version__}: passed")


main()
