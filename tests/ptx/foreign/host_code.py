# SPDX-License-Identifier: MIT
"""The host side of CUDA sources, read as far as it takes to know with which blocks it launches its kernels.

In: what the preprocessor leaves of a file, without the system's headers.  Out: `Unit.launches()`, each launch with the
kernel's name, its template arguments and its block, both as far as they are known.  Values are followed through
constants, variables in scope, arguments and template arguments of callers, `switch` cases and conditional expressions.
A value is a set: each of its numbers is one that the host code takes in some run.  What is not known is None.
"""
import bisect
import itertools
import re

WORD = re.compile(r"[A-Za-z_]\w*")
TOKEN = re.compile(r"\s*(?:(0[xX][\da-fA-F]+|\d+)(?:[uUlL]*)(?![\w.])|([A-Za-z_]\w*(?:\s*(?:::|\.|->)\s*[A-Za-z_]\w*)*)"
                   r"|(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^~!?:(),\[\]{}]))")
CASTS = {"int", "unsigned", "size_t", "long", "uint32_t", "int32_t", "int64_t", "uint64_t", "short", "uint", "char", "uint8_t"}
LAUNCHERS = {"cudaLaunchKernel": (0, 2), "cudaLaunchCooperativeKernel": (0, 2), "hipLaunchKernelGGL": (0, 2)}
DEEPEST = 6
MOST_CONTEXTS = 256
# what every GPU of the last ten years answers
OF_DEVICES = {"maxThreadsPerBlock": 1024, "warpSize": 32, "warp_size": 32}


def closing(text, at, pairs="()[]{}"):
    """The place of what closes the bracket at `at`, or the end."""
    depth = 0
    for match in re.compile("[" + re.escape(pairs) + "]").finditer(text, at):
        depth += 1 if pairs.index(match.group()) % 2 == 0 else -1
        if depth == 0:
            return match.start()
    return len(text)


def split(text):
    """Arguments between commas, with brackets and template arguments in view."""
    parts, depth, angle, at = [], 0, 0, 0
    for i, c in enumerate(text):
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "<" and i and (text[i - 1].isalnum() or text[i - 1] == "_"):
            angle += 1
        elif c == ">" and angle and text[i - 1] != "-":
            angle -= 1
        elif c == "," and depth == 0 and (angle == 0 or ">" not in text[i:]):
            parts.append(text[at:i].strip())
            at = i + 1
    parts.append(text[at:].strip())
    return [] if parts == [""] else parts


def angles_before(text, end):
    """Where the template arguments begin that end before `end` with a '>', or None."""
    depth, i = 0, end - 1
    while i >= 0 and end - i < 2000:
        c = text[i]
        if c == ">" and text[i - 1] != "-":
            depth += 1
        elif c == "<":
            depth -= 1
            if depth == 0:
                return i
        elif c in ";{}":
            return None
        i -= 1
    return None


class Function:
    def __init__(self, name, templates, parameters, begin, end):
        self.name, self.templates, self.parameters, self.begin, self.end = name, templates, parameters, begin, end


def parameter(text):
    """(name, default) of a declared parameter, of a function or a template."""
    text, _, default = text.partition("=")
    pointer = re.search(r"\(\s*[*&]+\s*(\w+)\s*\)", text)
    words = WORD.findall(re.sub(r"\[.*", "", text))
    return (pointer.group(1) if pointer else words[-1] if len(words) > 1 else "", default.strip() or None)


def head_of_function(head):
    """(name, template parameters, parameters) if the text before a '{' is that of a function."""
    head = re.sub(r"\b(?:__launch_bounds__|__attribute__|alignas|__declspec|__cluster_dims__|decltype|noexcept)\s*\((?:[^()]|\([^()]*\))*\)+", " ", head)
    templates = []
    while True:
        match = re.match(r"\s*template\s*<", head)
        if not match:
            break
        end = closing(head, match.end() - 1, "<>")
        templates = [parameter(part) for part in split(head[match.end() : end])]
        head = head[end + 1 :]
    match = re.search(r"([A-Za-z_]\w*|operator\s*\S+)\s*\(", head)
    if not match or "=" in head[: match.start()] or match.group(1) in ("if", "for", "while", "switch", "catch", "return"):
        return None
    end = closing(head, match.end() - 1)
    return match.group(1), templates, [parameter(part) for part in split(head[match.end() : end])]


class Scope:
    """A place in the code: the function, where in it, and who called it with what."""

    def __init__(self, function, at, caller=None, arguments=(), templates=(), bound=None):
        self.function, self.at, self.caller = function, at, caller
        self.arguments, self.templates, self.bound = arguments, templates, bound or {}

    def depth(self):
        return 1 + (self.caller.depth() if self.caller else 0)


class NeedsCaller(Exception):
    """A value is an argument of the outermost function of a scope."""


class Unit:
    def __init__(self, text):
        self.text = re.sub(r'"(?:[^"\\\n]|\\.)*"', lambda m: '"' + re.sub(r"[^\w]", "_", m.group()[1:-1]) + '"', text)
        self.functions, self.opens, self.closes = [], [], {}
        self.read_functions()
        self.begins = [f.begin for f in self.functions]
        self.by_name = {}
        for function in self.functions:
            self.by_name.setdefault(function.name, []).append(function)
        self.calls, self.known = {}, {}

    def read_functions(self):
        stack, inside, last = [], None, 0
        for match in re.finditer(r"[{};]", self.text):
            at = match.start()
            if match.group() == "{":
                self.opens.append(at)
                found = None
                if inside is None:
                    found = head_of_function(self.text[last:at])
                    if found:
                        inside = len(stack)
                stack.append((at, found))
            elif match.group() == "}" and stack:
                begin, found = stack.pop()
                self.closes[begin] = at
                if found and inside == len(stack):
                    self.functions.append(Function(*found, begin, at))
                    inside = None
            if inside is None:
                last = at + 1
        self.functions.sort(key=lambda f: f.begin)

    def function_at(self, at):
        i = bisect.bisect_right(self.begins, at) - 1
        return self.functions[i] if i >= 0 and at < self.functions[i].end else None

    def calls_of(self, name):
        """[(function, place, template arguments, arguments)]"""
        if name not in self.calls:
            found = []
            for match in re.finditer(rf"\b{re.escape(name)}\s*(?=[<(])", self.text):
                at, templates = match.end(), []
                if self.text[at] == "<":
                    end = closing(self.text, at, "<>()")
                    templates, at = split(self.text[at + 1 : end]), end + 1
                    at += len(self.text[at:]) - len(self.text[at:].lstrip()) if self.text[at : at + 1].isspace() else 0
                function = self.function_at(match.start())
                if function and self.text[at : at + 1] == "(":
                    found.append((function, match.start(), templates, split(self.text[at + 1 : closing(self.text, at)])))
            self.calls[name] = found
        return self.calls[name]

    def blocks_around(self, function, at):
        """Begins of the braces around a place, the innermost first."""
        found = []
        i = bisect.bisect_left(self.opens, at) - 1
        while i >= 0 and self.opens[i] >= function.begin:
            if self.closes.get(self.opens[i], 0) > at:
                found.append(self.opens[i])
            i -= 1
        return found

    def in_case(self, function, at, name):
        """The value of a name which a `switch` or an `if (name == value)` around a place tells."""
        around = self.blocks_around(function, at)
        for begin, inner in zip(around, [at, *around]):
            before = self.text[max(0, begin - 300) : begin]
            match = re.search(r"\b(?:if|switch)\s*(?:constexpr\s*)?\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)\s*$", before)
            if not match:
                continue
            condition = match.group(1).strip()
            if re.fullmatch(rf"(?:\(?[\w\s]+\)\s*)?{re.escape(name)}", condition):
                cases = re.findall(r"\bcase\s+([\w:]+)\s*:(?!:)", self.text[begin:inner])
                if cases and re.search(r"\bswitch\s*\([^;]*$", before):
                    return cases[-1]
            same = re.fullmatch(rf"{re.escape(name)}\s*==\s*([\w:]+)", condition)
            if same:
                return same.group(1)
        return None

    def assigned(self, function, at, name):
        """Texts that a local name may stand for at a place: of the innermost declaration and what is assigned behind it."""
        around = set(self.blocks_around(function, at)) | {function.begin}
        body = self.text[function.begin : at]
        pattern = re.compile(rf"(?<![\w.>])(\w[\w\s:*&<>,]*?\s[*&]*)?\b{re.escape(name)}\s*(?:\[[^\]]*\]\s*)?(=(?!=)|\(|\{{)")
        found = []
        for match in pattern.finditer(body):
            typed = bool(match.group(1)) and match.group(1).split()[0] not in ("return", "else", "case", "throw", "new")
            typed = typed or self.is_declared_with_others(function.begin + match.start())
            if match.group(2) != "=" and not typed:
                continue
            place = function.begin + match.start()
            home = next(iter(self.blocks_around(function, place)), function.begin)
            if typed and home not in around and not self.in_loop_head(place):
                continue
            begin = function.begin + match.end()
            if match.group(2) == "=":
                depth, end = 0, begin
                while end < len(self.text) and not (depth == 0 and self.text[end] in ",;)"):
                    depth += (self.text[end] in "([{") - (self.text[end] in ")]}")
                    end += 1
                value = self.text[begin:end].strip()
            else:
                value = "\0" + self.text[begin : closing(self.text, begin - 1)].strip()
            found = [value] if typed else found + [value]
        return found

    def is_declared_with_others(self, place):
        """Whether a name behind a comma is one of several that a statement declares."""
        statement = re.split(r"[;{}]", self.text[max(0, place - 400) : place])[-1].strip()
        return statement.endswith(",") and re.match(r"(?:const\s+)?(?:dim3|int|unsigned|size_t|long|auto|uint)\b", statement) is not None

    def in_loop_head(self, place):
        return re.search(r"\bfor\s*\([^;)]*$", self.text[max(0, place - 120) : place]) is not None

    def of_file(self, name):
        """Texts that a name of the file, of a class or of an enumeration may stand for."""
        if name not in self.known:
            whole = re.compile(rf"\bdim3\s+{re.escape(name)}\s*[({{]([^;]*)[)}}]\s*;")
            pattern = re.compile(rf"\b(?:const|constexpr|static|unsigned|int|size_t|uint|auto|long|bool)\s[\w\s:]*?\b{re.escape(name)}\s*(?:=\s*([^;,{{}}]+)[;,]|\{{([^{{}}]*)\}}\s*;)|[{{,]\s*{re.escape(name)}\s*=\s*([^,}}=;]+)[,}}]")
            self.known[name] = {next(g for g in m.groups() if g is not None).strip() for m in pattern.finditer(self.text)
                                if not self.function_at(m.end() - 1)}
            self.known[name] |= {"\0" + m.group(1) for m in whole.finditer(self.text) if not self.function_at(m.start())}
        return self.known[name]

    # --- values ---

    def texts(self, name, scope):
        """[(text, scope)] of what a name may stand for."""
        if name in scope.bound:
            return [(scope.bound[name], None)]
        function = scope.function
        told = self.in_case(function, scope.at, name)
        if told:
            return [(told, scope)]
        local = self.assigned(function, scope.at, name)
        if local:
            return [(text, scope) for text in local]
        for names, given in ((function.parameters, scope.arguments), (function.templates, scope.templates)):
            for i, (inner, default) in enumerate(names):
                if inner != name:
                    continue
                if scope.caller is None:
                    raise NeedsCaller()
                if i < len(given):
                    return [(given[i], scope.caller)]
                return [(default, scope.caller)] if default else []
        if self.of_file(name):
            return [(text, scope) for text in self.of_file(name)] if len(self.of_file(name)) == 1 else []
        return self.by_reference(name, scope) or self.anywhere(name)

    def by_reference(self, name, scope):
        """What functions assign to a local variable that is handed to them."""
        found = []
        body = self.text[scope.function.begin : scope.at]
        for match in re.finditer(rf"(\w+)\s*\(((?:[^();]|\((?:[^()]|\([^()]*\))*\))*[,&\s(]|\s*&?){re.escape(name)}\s*[,)]", body):
            function = self.by_name.get(match.group(1), [None])[0]
            if function is None or function is scope.function:
                continue
            at = scope.function.begin + match.start(2)
            given = split(self.text[at : closing(self.text, at - 1)])
            for part, (inner, _) in zip(given, function.parameters):
                if part.lstrip("& ") == name:
                    where = Scope(function, function.end, scope, given)
                    found += [(text, where) for text in self.assigned(function, function.end, inner)]
        return found

    def anywhere(self, name):
        """What functions assign to a variable of a file or class."""
        found = []
        for match in re.finditer(rf"(?<![\w.>]){re.escape(name)}\s*=(?!=)([^;{{}}]*);", self.text):
            function = self.function_at(match.start())
            if function and (match.group(1).strip(), function) not in [(text, where.function) for text, where in found]:
                found.append((match.group(1).strip(), Scope(function, match.start())))
        return found if len(found) <= 4 else []

    def value(self, text, scope, depth=0):
        """The set of numbers of an expression, or None."""
        if text is None or depth > 12:
            return None
        member = re.fullmatch(r"[\w()\[\]:.>-]*(?:\.|->)(\w+)", text.strip())
        if member and member.group(1) in OF_DEVICES:
            return {OF_DEVICES[member.group(1)]}
        try:
            tokens = tokens_of(text.lstrip("\0"))
            parser = Parser(self, tokens, scope, depth)
            found = parser.conditional()
            return found if parser.at == len(tokens) else None
        except (SyntaxError, IndexError, ValueError):
            return None

    def named(self, word, scope, depth):
        word = re.sub(r"\s", "", word)
        last = re.split(r"::|\.|->", word)[-1]
        if word in ("true", "false"):
            return {int(word == "true")}
        if last in OF_DEVICES:
            return {OF_DEVICES[last]}
        if word != last:
            if "." in word or "->" in word:
                texts = self.assigned(scope.function, scope.at, word)
                found = [self.value(text, scope, depth + 1) for text in texts]
                return set().union(*found) if found and None not in found else None
            texts = [(text, scope) for text in self.of_file(last)] if len(self.of_file(last)) == 1 else []
        elif scope is None:
            return None
        else:
            texts = self.texts(word, scope)
        found = [self.value(text, inner or scope, depth + 1) for text, inner in texts if text != word or inner not in (None, scope)]
        found = [f for f in found if f is not None]
        return set().union(*found) if found else None

    def elements(self, word, scope, depth):
        """The values that an array is initialised with."""
        if scope is None or not WORD.fullmatch(word):
            return None
        found = []
        for text, inner in self.texts(word, scope):
            if not text.startswith("{"):
                return None
            found += [self.value(part, inner or scope, depth + 1) for part in split(text[1 : closing(text, 0)])]
        return set().union(*found) if found and None not in found else None

    def least(self, arguments, scope, depth):
        """What is not known is the size of a problem, which may be larger than what is."""
        values = []
        for text in arguments:
            try:
                values.append(self.value(text, scope, depth + 1))
            except NeedsCaller:
                values.append(None)
        known = [v for v in values if v is not None]
        return {min(several) for several in itertools.product(*known)} if known else None

    def called(self, name, arguments, scope, depth):
        """What a function returns, where that is one of a few numbers."""
        last = re.split(r"::", re.sub(r"\s", "", name))[-1]
        if last in ("min", "max"):
            if last == "min":
                return self.least(arguments, scope, depth)
            values = [self.value(a, scope, depth + 1) for a in arguments]
            if None in values or len(values) != 2:
                return None
            return {max(a, b) for a, b in itertools.product(*values)}
        if depth > 6 or len(self.by_name.get(last, ())) != 1:
            return None
        function = self.by_name[last][0]
        inner = Scope(function, function.end, scope, arguments)
        found = [self.value(text, inner, depth + 1)
                 for text in re.findall(r"\breturn\b([^;]+);", self.text[function.begin : function.end])]
        return set().union(*found) if found and None not in found else None

    def block(self, text, scope, depth=0):
        """[(x, y, z)] that a block may be, or None."""
        if text is None or depth > 8:
            return None
        text = text.strip()
        inner = re.fullmatch(r"(?:const\s+)?(?:dim3|uint3|make_uint3)?\s*[({](.*)[)}]|\0(.*)", text, re.S)
        if inner:
            sizes = split(inner.group(1) if inner.group(1) is not None else inner.group(2))
            if len(sizes) == 1 and depth and self.block_name(sizes[0], scope, depth):
                return self.block_name(sizes[0], scope, depth)
            values = [self.value(size, scope) for size in sizes]
            if not 1 <= len(sizes) <= 3 or None in values or sum(len(v) > 1 for v in values) > 1:
                return None
            values += [{1}] * (3 - len(values))
            return list(itertools.product(*map(sorted, values)))
        found = self.block_name(text, scope, depth)
        if found:
            return found
        value = self.value(text, scope)
        return [(v, 1, 1) for v in sorted(value)] if value else None

    def parts_of(self, text, scope, depth=0):
        """[(values, scope)] of the lists that a structure may be made of."""
        text = text.strip()
        if re.fullmatch(r"\w+", text):
            found = [self.parts_of(inner, where or scope, depth + 1) for inner, where in self.texts(text, scope)] if depth < 6 else []
            return [part for several in found for part in several]
        made = re.fullmatch(r"(?:([\w:]+)(?:<[^()]*>)?\s*)?[({](.*)[)}]|\0(.*)", text, re.S)
        if not made:
            return []
        given = split(made.group(2) if made.group(2) is not None else made.group(3))
        found = []
        for function in self.by_name.get((made.group(1) or "").split("::")[-1], []):
            where = Scope(function, function.end, scope, given)
            for value in re.findall(r"\breturn\b([^;]+);", self.text[function.begin : function.end]):
                found += self.parts_of(value, where, depth + 1) if depth < 6 else []
        return found or [(given, scope)]

    def block_of_member(self, word, member, scope, depth):
        """The block in a structure, whose members have the order of its declaration."""
        if member in ("first", "second"):
            place = int(member == "second")
        else:
            fields = next((re.findall(r"(\w+)\s*(?:=[^;]*)?;", body) for body in re.findall(r"\bstruct\s+\w+\s*\{([^{}()]*)", self.text)
                           if re.search(rf"\b{re.escape(member)}\s*;", body)), None)
            if fields is None:
                return None
            place = fields.index(member)
        found = []
        for given, where in self.parts_of(word, scope):
            made = self.block(given[place], where, depth + 1) if place < len(given) else None
            if made is None:
                return None
            found += made
        return found or None

    def block_name(self, text, scope, depth):
        member = re.fullmatch(r"(\w+)\.(\w+)", text)
        if member:
            return self.block_of_member(*member.groups(), scope, depth)
        if not re.fullmatch(r"\w+", text) or text.isdigit():
            return None
        found = []
        for inner, where in self.texts(text, scope):
            if not re.match(r"(?:const\s+)?(dim3|uint3|make_uint3)?\s*[({\0]", inner) and not re.fullmatch(r"\w+", inner):
                continue
            made = self.block(inner, where or scope, depth + 1)
            if made is None:
                return None
            found += made
        # x, y and z by themselves
        fields = [self.assigned(scope.function, scope.at, f"{text}.{axis}") for axis in "xyz"]
        if any(fields) and not found:
            values = [self.value(f[-1], scope) if f else {1} for f in fields]
            return list(itertools.product(*map(sorted, values))) if None not in values else None
        return found or None

    # --- launches ---

    def kernels_named(self, text, scope, depth=0):
        """[(kernel's name, template arguments or None, scope)] that an expression may stand for."""
        text = re.sub(r"^\s*(?:\(\s*(?:const\s+)?void\s*\*+\s*\)|reinterpret_cast<[^>]*>|static_cast<[^>]*>|\(?&\)?|\(|\*)\s*", "", text.strip())
        text = re.sub(r"^\s*&", "", text).strip().rstrip(")").strip()
        match = re.match(r"((?:\w+\s*::\s*)*\w+)\s*(?:<(.*)>)?$", text, re.S)
        if not match or depth > 6:
            return []
        name = match.group(1).split("::")[-1].strip()
        if match.group(2) is None and name not in self.by_name and "::" not in match.group(1):
            found = []
            for inner, where in self.texts(name, scope):
                if inner != name or where not in (None, scope):
                    found += self.kernels_named(inner.lstrip("\0"), where or scope, depth + 1)
            if found:
                return found
        return [(name, split(match.group(2)) if match.group(2) is not None else None, scope)]

    def sites(self):
        """[(place, kernel's text, block's text)]"""
        found = []
        for match in re.finditer(r"<<<", self.text):
            end = self.text.find(">>>", match.end())
            given = split(self.text[match.end() : end])
            before = self.text[: match.start()].rstrip() if match.start() < 4000 else self.text[match.start() - 4000 : match.start()].rstrip()
            begin = angles_before(before, len(before)) if before.endswith(">") else len(before)
            if begin is None or len(given) < 2:
                continue
            name = re.search(r"((?:\w+\s*(?:::|\.|->)\s*)*\w+|\(\s*\*\s*\w+\s*\))\s*$", before[:begin])
            if name:
                found.append((match.start(), name.group(1).strip(" ()*") + before[begin:], given[1]))
        for launcher, (kernel, block) in LAUNCHERS.items():
            for function, at, _, given in self.calls_of(launcher):
                if len(given) > block:
                    found.append((at, given[kernel], given[block]))
        for launcher in ("cudaLaunchKernelEx", "cudaLaunchKernelExC"):
            for function, at, _, given in self.calls_of(launcher):
                if len(given) > 1:
                    config = given[0].lstrip("& ")
                    blocks = self.assigned(function, at, f"{config}.blockDim")
                    listed = self.assigned(function, at, config)
                    members = split(listed[-1].strip("\0{} ")) if listed else []
                    if blocks or len(members) > 1:
                        found.append((at, given[1], blocks[-1] if blocks else re.sub(r"^\.\w+\s*=", "", members[1])))
        for function, at, _, given in self.calls_of("cuLaunchKernel"):
            names = re.findall(rf'cuModuleGetFunction\s*\(\s*&\s*{re.escape(given[0])}\s*,[^,]*,\s*"(\w+)"', self.text) if given else []
            if names and len(given) > 6:
                found.append((at, names[0], "dim3(" + ",".join(given[4:7]) + ")"))
        return found

    def launches(self):
        """[(kernel's name, template arguments or None, scope of these, block's text, scope of the launch)]"""
        found = []
        for at, kernel, block in self.sites():
            function = self.function_at(at)
            if not function:
                continue
            waiting, done = [Scope(function, at)], 0
            while waiting and done < MOST_CONTEXTS:
                scope = waiting.pop()
                done += 1
                try:
                    names = self.kernels_named(kernel, scope)
                    self.block(block, scope)
                except NeedsCaller:
                    callers = self.extended(scope)
                    waiting += callers
                    if callers:
                        continue
                    names = self.names_without_callers(kernel, scope)
                found += [(name, templates, where, block, scope) for name, templates, where in names]
        return found

    def names_without_callers(self, kernel, scope):
        try:
            return self.kernels_named(kernel, scope)
        except NeedsCaller:
            return []

    def extended(self, scope):
        """The scope with each caller of its outermost function."""
        if scope.depth() >= DEEPEST:
            return []
        chain = [scope]
        while chain[-1].caller:
            chain.append(chain[-1].caller)
        outer = chain[-1].function
        found = []
        for function, at, templates, arguments in self.calls_of(outer.name):
            if function is outer:
                continue
            inner = Scope(function, at)
            for link in reversed(chain):
                first = link is chain[-1]
                inner = Scope(link.function, link.at, inner, arguments if first else link.arguments,
                              templates if first else link.templates, link.bound)
            found.append(inner)
        return found


def tokens_of(text):
    text = re.sub(r"\b(?:static_cast|reinterpret_cast)\s*<[^<>]*>", "", text)
    text = re.sub(r"\bsizeof\s*\(\s*(float|int|unsigned|unsigned int)\s*\)", "4", text)
    tokens, at = [], 0
    text = text.strip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise SyntaxError(text)
        number, word, sign = match.groups()
        tokens.append(int(number, 0) if number else word if word else sign)
        at = match.end()
    return tokens


LEVELS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", ">", "<=", ">="], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]]


def binary(sign, a, b):
    if sign in "/%":
        if b == 0:
            raise ValueError("division by zero")
        return a // b if sign == "/" else a % b
    return {"||": bool(a or b), "&&": bool(a and b), "|": a | b, "^": a ^ b, "&": a & b, "==": a == b, "!=": a != b, "<": a < b, ">": a > b,
            "<=": a <= b, ">=": a >= b, "<<": a << min(b, 64), ">>": a >> min(b, 64), "+": a + b, "-": a - b, "*": a * b}[sign]


class Parser:
    """A C expression, as sets of numbers."""

    def __init__(self, unit, tokens, scope, depth):
        self.unit, self.tokens, self.at, self.scope, self.depth = unit, tokens, 0, scope, depth

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, wanted=None):
        token = self.peek()
        if token is None or wanted is not None and token != wanted:
            raise SyntaxError(str(token))
        self.at += 1
        return token

    def conditional(self):
        condition = self.level(0)
        if self.peek() != "?":
            return condition
        self.take("?")
        yes = self.conditional()
        self.take(":")
        no = self.conditional()
        if condition and len(condition) == 1:
            return yes if next(iter(condition)) else no
        return yes | no if yes is not None and no is not None else yes or no

    def level(self, i):
        if i == len(LEVELS):
            return self.unary()
        left = self.level(i + 1)
        while self.peek() in LEVELS[i]:
            sign = self.take()
            right = self.level(i + 1)
            if left is None or right is None or len(left) > 1 and len(right) > 1:
                left = None
            else:
                left = {int(binary(sign, a, b)) for a in left for b in right}
        return left

    def unary(self):
        token = self.take()
        if token in ("-", "+", "~", "!"):
            inner = self.unary()
            turn = {"-": lambda v: -v, "+": lambda v: v, "~": lambda v: ~v, "!": lambda v: int(not v)}[token]
            return inner and {turn(v) for v in inner}
        if isinstance(token, int):
            return {token}
        if token == "(":
            if self.peek() in CASTS or isinstance(self.peek(), str) and re.fullmatch(r"(?:std::)?u?int\d*_t", str(self.peek())):
                while self.peek() != ")":
                    self.take()
                self.take(")")
                return self.unary()
            inner = self.conditional()
            self.take(")")
            return inner
        if not WORD.match(token):
            raise SyntaxError(token)
        if token in CASTS and self.peek() == "(":
            return self.unary()
        if self.peek() == "(":
            return self.call(token)
        if self.peek() == "[":
            depth = 0
            while True:
                sign = self.take()
                depth += (sign == "[") - (sign == "]")
                if depth == 0:
                    return self.unit.elements(token, self.scope, self.depth)
        return self.unit.named(token, self.scope, self.depth)

    def call(self, name):
        depth, parts = 0, [[]]
        while True:
            token = self.take()
            depth += (token == "(") - (token == ")")
            if depth == 0:
                break
            if token == "," and depth == 1:
                parts.append([])
            elif not (token == "(" and depth == 1):
                parts[-1].append(str(token))
        return self.unit.called(name, [" ".join(part) for part in parts], self.scope, self.depth)
