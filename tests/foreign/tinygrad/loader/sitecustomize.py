"""Python loads this file by itself, from PYTHONPATH. Libraries that a program asks ctypes for by the names that they have on
a Mac are the one that APPLE_LIBRARY names (apple.m)."""
import ctypes
import ctypes.util
import os
import platform

library = os.environ["APPLE_LIBRARY"]
load, find = ctypes.CDLL.__init__, ctypes.util.find_library


def is_apples(name):
    return isinstance(name, str) and (name.startswith("/System/Library/") or name == "/usr/lib/libSystem.dylib")


def load_apples(self, name, *arguments, **options):
    load(self, library if is_apples(name) else name, *arguments, **options)


ctypes.CDLL.__init__ = load_apples
ctypes.util.find_library = lambda name: library if name == "objc" else find(name)
# tinygrad's own variables for where a library lies.
for name in ("METAL", "COREGRAPHICS", "MTLCOMPILER"):
    os.environ[name + "_PATH"] = library
# The version of macOS, from which tinygrad chooses the language's version.
platform.mac_ver = lambda *ignored: ("15.0", ("", "", ""), "arm64")
