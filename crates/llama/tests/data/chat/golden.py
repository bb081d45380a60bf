"""Writes rendered.json: chats as the package transformers renders them with the templates here.

pip install transformers==5.* jinja2; the templates are made for this test.
"""

import json
import pathlib

from transformers.utils.chat_template_utils import render_jinja_template

folder = pathlib.Path(__file__).parent

talk = [
    {"role": "user", "content": "  Hi there, what is a cat? "},
    {"role": "assistant", "content": "\nAn animal!\n"},
    {"role": "user", "content": "Thanks, für <b>all</b> & 'more'\n"},
]
system = [{"role": "system", "content": " You are a parrot. "}]
thinking = [
    {"role": "user", "content": "Hi!"},
    {"role": "assistant", "content": "<think>\nhm a\n</think>\n\na bat"},
]
calls = [
    {"role": "user", "content": "How warm is it?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"type": "function", "function": {"name": "heat", "arguments": {"place": "Köln", "unit": None}}}
        ],
    },
    {"role": "tool", "content": "{\"degrees\": 21}", "name": "heat"},
]
tools = [
    {
        "type": "function",
        "function": {
            "name": "heat",
            "description": "Tells <the> heat's \"degrees\"",
            "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
        },
    }
]

odd = {
    "texts": ["\0\x1f\x7f\u00a0é\u00ad", "\u2028\ue000\u0378日本", "\U000e0001\U0010fffd🦀", "\r\n'\"\\"],
    "numbers": [0, -1, 1e16, 123456.75, 1.5e-7, [True, None]],
    "none": {},
}
chats = {
    "talk": (talk, None, {}),
    "system": (system + talk, None, {}),
    "thinking": (thinking, None, {"enable_thinking": False}),
    "calls": (system + calls, tools, {}),
    "odd": (calls, tools, {"odd": odd}),
}
used = {
    "turns": ["talk", "system", "calls"],
    "headers": ["talk", "system", "calls"],
    "model": ["talk"],
    "instructions": ["talk", "system"],
    "methods": ["talk", "thinking"],
    "generation": ["talk"],
    "printed": ["odd"],
}

cases = []
for template, names in used.items():
    source = (folder / "templates" / f"{template}.jinja").read_text()
    for name in names:
        messages, given, variables = chats[name]
        for prompt in (False, True):
            texts = render_jinja_template(
                conversations=[messages],
                tools=given,
                chat_template=source,
                add_generation_prompt=prompt,
                bos_token="<s>",
                eos_token="</s>",
                **variables,
            )[0]
            cases.append(
                {
                    "template": template,
                    "messages": messages,
                    "tools": given,
                    "variables": variables,
                    "add_generation_prompt": prompt,
                    "text": texts[0],
                }
            )
(folder / "rendered.json").write_text(json.dumps(cases, ensure_ascii=False, indent=1) + "\n")
