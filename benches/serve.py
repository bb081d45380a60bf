#!/usr/bin/env python3
"""Asks a server of OpenAI's HTTP interface for streamed completions, and prints a table for docs/performance.md.

Usage: benches/serve.py ADDRESS [--clients 1,8,64] [--requests 3] [--words 64] [--tokens 32] [--key KEY]

Each client sends its requests one after the other, over a connection each. Prompts begin with a random number, so that no server has
read what they begin with. A time between tokens is that between two pieces of a stream. The first request of all warms the server up
and does not count. At the end fewer clients are left, so that with few requests the rates are somewhat low.
"""

import argparse
import asyncio
import json
import random
import time

WORDS = "a bird saw the big red ball and ran to play with friends in green woods near old house while sun went down".split()


async def open_stream(server, prompt):
    """Sends a request; gives the connection when the answer's head has come."""
    body = {"prompt": prompt, "max_tokens": server.tokens, "stream": True, "stream_options": {"include_usage": True}}
    body = json.dumps(body | ({"model": server.model} if server.model else {})).encode()
    reader, writer = await asyncio.open_connection(server.host, server.port)
    head = [f"POST /v1/completions HTTP/1.1\r\nHost: {server.host}:{server.port}", "Content-Type: application/json"]
    head += [f"Content-Length: {len(body)}", "Connection: close", f"Authorization: Bearer {server.key}"]
    writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in answer.split(b"\r\n")[0], answer
    return reader, writer


async def complete(server, prompt):
    """When each piece of a text came after its request was sent, in seconds, and how many tokens the server counts."""
    start = time.perf_counter()
    reader, writer = await open_stream(server, prompt)
    times, tokens = [], 0
    async for line in reader:
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[len(b"data: ") :])
        assert "error" not in event, event
        if any(choice["text"] for choice in event["choices"]):
            times.append(time.perf_counter() - start)
        if event.get("usage"):
            tokens = event["usage"]["completion_tokens"]
    writer.close()
    return times, tokens


def percentile(values, share):
    """The least value that this share of all does not exceed."""
    values = sorted(values)
    return values[max(0, -(-len(values) * share // 100) - 1)] if values else float("nan")


async def measure(server, clients, requests, words):
    """A row of the table."""
    results = []

    async def client(number):
        # Of another server's tokenizer, words are more or fewer tokens.
        draw = random.Random(clients * 1000 + number)
        for _ in range(requests):
            prompt = " ".join([f"{random.randrange(10**9)}:"] + draw.choices(WORDS, k=words))
            results.append(await complete(server, prompt))

    start = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    wall = time.perf_counter() - start
    first = [times[0] * 1000 for times, _ in results if times]
    between = [(b - a) * 1000 for times, _ in results for a, b in zip(times, times[1:])]
    tokens = sum(count for _, count in results)
    figures = [f"{len(results) / wall:.2f}", f"{tokens / wall:.1f}"]
    figures += [f"{percentile(list_, share):,.0f}" for list_ in (first, between) for share in (50, 99)]
    print(f"| {clients} | " + " | ".join(figures) + " |", flush=True)


async def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("address", help="host:port")
    parser.add_argument("--clients", default="1,8,64")
    parser.add_argument("--requests", type=int, default=3, help="of each client")
    parser.add_argument("--words", type=int, default=64, help="of a prompt")
    parser.add_argument("--tokens", type=int, default=32, help="that a text has at most")
    parser.add_argument("--model", help="if the server wants its name")
    parser.add_argument("--key", default="none")
    server = parser.parse_args()
    server.host, _, port = server.address.removeprefix("http://").rstrip("/").rpartition(":")
    server.port = int(port)
    await complete(server, "warm")
    print("| clients | requests/s | tokens/s | first token, ms, 50 % | 99 % | between tokens, ms, 50 % | 99 % |")
    print("|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for clients in map(int, server.clients.split(",")):
        await measure(server, clients, server.requests, server.words)


asyncio.run(main())
