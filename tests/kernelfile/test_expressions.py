#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random expressions: what evaluate_expressions makes of them is what Python does.

    test_expressions.py EVALUATE_EXPRESSIONS [--count N] [--seed S]

Python's tree of an expression is gone through node by node, so that a whole number of
more than 64 bits is an error here as it is there.
"""
import argparse
import ast
import math
import operator
import random
import subprocess
import sys

VALUES = {"a": 7, "b": -3, "c": 64, "d": 2.5, "e": "row"}
FUNCTIONS = {"min": min, "max": max, "abs": abs, "int": int, "float": float, "round": round, "ceil": math.ceil,
             "floor": math.floor, "sqrt": math.sqrt, "log2": math.log2}
BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
          ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
          ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitXor: operator.xor, ast.BitOr: operator.or_}
UNARY = {ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert, ast.Not: operator.not_}
COMPARE = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
           ast.Gt: operator.gt, ast.GtE: operator.ge}


class NoValue(Exception):
    pass


def kept(value):
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, complex) or (isinstance(value, int) and not -2**63 <= value < 2**63):
        raise NoValue
    return value


def binary(kind, a, b):
    if isinstance(a, str) or isinstance(b, str):
        raise NoValue
    if kind is ast.LShift and isinstance(b, int) and b > 64 and a != 0:
        raise NoValue
    if kind is ast.Pow and isinstance(a, int) and isinstance(b, int) and b > 64 and abs(a) > 1:
        raise NoValue
    return kept(BINARY[kind](a, b))


def compared(node):
    left = value_of(node.left)
    for kind, right in zip(node.ops, node.comparators):
        if isinstance(kind, (ast.In, ast.NotIn)):
            found = left in [value_of(item) for item in right.elts]
            return int(found == isinstance(kind, ast.In))
        right = value_of(right)
        if not COMPARE[type(kind)](left, right):
            return 0
        left = right
    return 1


def value_of(node):
    if isinstance(node, ast.Constant):
        return kept(node.value)
    if isinstance(node, ast.Name):
        return VALUES[node.id]
    if isinstance(node, ast.BinOp):
        return binary(type(node.op), value_of(node.left), value_of(node.right))
    if isinstance(node, ast.UnaryOp):
        value = value_of(node.operand)
        return kept(UNARY[type(node.op)](value))
    if isinstance(node, ast.BoolOp):
        for part in node.values:
            value = value_of(part)
            if bool(value) == isinstance(node.op, ast.Or):
                break
        return value
    if isinstance(node, ast.IfExp):
        return value_of(node.body) if value_of(node.test) else value_of(node.orelse)
    if isinstance(node, ast.Compare):
        return compared(node)
    arguments = [value_of(argument) for argument in node.args]
    if node.func.id not in ("min", "max") and isinstance(arguments[0], str):
        raise NoValue
    return kept(FUNCTIONS[node.func.id](*arguments))


def expected(text):
    try:
        value = value_of(ast.parse(text, mode="eval").body)
    except (NoValue, ArithmeticError, ValueError, TypeError, SyntaxError):
        return "error"
    if isinstance(value, float):
        return value
    return repr(value) if isinstance(value, str) else str(value)


class Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self):
        r = self.random
        return r.choice([lambda: str(r.randrange(10)), lambda: str(r.randrange(2**r.randrange(1, 64))),
                         lambda: repr(r.uniform(0, 100)), lambda: repr(r.random() * 10.0**r.randrange(-20, 20)),
                         lambda: hex(r.randrange(2**16)), lambda: "%d." % r.randrange(100),
                         lambda: r.choice(["True", "False", "0", "1", "2", "0.0"])])()

    def write(self, depth):
        r = self.random
        if depth == 0 or r.random() < 0.15:
            return r.choice([self.number, lambda: r.choice("abcd"), lambda: r.choice("abcd"),
                             lambda: r.choice(["e", "'row'", '"col"', "''"]) if r.random() < 0.2 else "c"])()
        part = lambda: self.write(depth - 1)
        return r.choice([
            lambda: "(%s)" % part(),
            lambda: "%s %s %s" % (part(), r.choice(["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "^", "|"]),
                                  part()),
            lambda: "%s%s%s" % (part(), r.choice(["+", "-", "*", "//", "%", "/"]), part()),
            lambda: "%s %s %s" % (part(), r.choice(["<", "<=", ">", ">=", "==", "!="]), part()),
            lambda: "%s %s %s %s %s" % (part(), r.choice(["<", "<=", ">"]), part(), r.choice(["<", "==", ">="]), part()),
            lambda: "%s %s %s" % (part(), r.choice(["and", "or"]), part()),
            lambda: "%s%s" % (r.choice(["-", "+", "~", "not ", "- "]), part()),
            lambda: "(%s if %s else %s)" % (part(), part(), part()),
            lambda: "(%s %s [%s, %s])" % (part(), r.choice(["in", "not in"]), part(), part()),
            lambda: "%s(%s)" % (r.choice(["abs", "int", "float", "round", "ceil", "floor", "sqrt", "log2"]), part()),
            lambda: "%s(%s, %s)" % (r.choice(["min", "max"]), part(), part()),
        ])()


def is_same(got, wanted):
    if wanted == "error" or got.startswith("error"):
        return got.startswith("error") and wanted == "error"
    if isinstance(wanted, float):
        return "0x" in got + "0x" * ("n" in got) and (float.fromhex(got) == wanted and
                                                      math.copysign(1, float.fromhex(got)) == math.copysign(1, wanted)
                                                      or math.isnan(wanted) and math.isnan(float.fromhex(got)))
    return got == wanted


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    writer = Writer(options.seed)
    texts = [writer.write(writer.random.randrange(1, 6)) for _ in range(options.count)]
    texts = [text for text in texts if len(text) < 4000]
    run = subprocess.run([options.program], input="\n".join(texts) + "\n", capture_output=True, text=True, check=True)
    got = run.stdout.splitlines()
    assert len(got) == len(texts), "%d answers to %d expressions" % (len(got), len(texts))
    values = wrong = 0
    for text, answer in zip(texts, got):
        wanted = expected(text)
        values += wanted != "error"
        if not is_same(answer, wanted):
            wrong += 1
            if wrong <= 20:
                print("%s\n    is %s, expected %s" % (text, answer, wanted))
    print("%d expressions, %d of them with a value: %d differ" % (len(texts), values, wrong))
    return wrong != 0 or values < options.count / 4


if __name__ == "__main__":
    sys.exit(main())
