/* SPDX-License-Identifier: MIT */
/* What a page that is whole without it gains: a closer look at a drawing, single trials under the pointer, ranges of a
 * tie set, filter and order of the table. */
(function () {
	"use strict";
	const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
	const numbers = (element, name) => element.getAttribute(name).split(" ").map(Number);

	function add(parent, name, attributes, text) {
		const space = parent instanceof SVGElement ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
		const element = document.createElementNS(space, name);
		Object.keys(attributes).forEach(key => element.setAttribute(key, attributes[key]));
		element.textContent = text || "";
		return parent.appendChild(element);
	}

	/* Where an event is, in the drawing's own coordinates. */
	function place(svg, event) {
		return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
	}

	/* --- a closer look: buttons, keys, and the wheel with Ctrl, so that the page scrolls as ever --- */
	function zoomable(figure) {
		const svg = figure.querySelector("svg"), box = svg.viewBox.baseVal;
		const whole = { x: box.x, y: box.y, width: box.width, height: box.height };
		const between = (value, from, to) => Math.max(from, Math.min(to, value));

		function show(width, dx, dy) {
			const factor = between(width, whole.width / 200, whole.width) / box.width;
			const x = box.x + box.width * (1 - factor) / 2 + dx * box.width;
			const y = box.y + box.height * (1 - factor) / 2 + dy * box.height;
			box.width *= factor;
			box.height *= factor;
			box.x = between(x, whole.x, whole.x + whole.width - box.width);
			box.y = between(y, whole.y, whole.y + whole.height - box.height);
		}
		const by = factor => () => show(box.width / factor, 0, 0), move = (dx, dy) => () => show(box.width, dx, dy);
		const actions = { "+": by(1.5), "=": by(1.5), "-": by(1 / 1.5), "0": by(1 / 200), ArrowLeft: move(-0.1, 0),
			ArrowRight: move(0.1, 0), ArrowUp: move(0, -0.1), ArrowDown: move(0, 0.1) };
		svg.setAttribute("tabindex", 0);
		svg.addEventListener("keydown", event => {
			if (!actions[event.key] || event.ctrlKey || event.metaKey)
				return;
			actions[event.key]();
			event.preventDefault();
		});
		svg.addEventListener("wheel", event => {
			if (!event.ctrlKey)
				return;
			by(event.deltaY < 0 ? 1.25 : 0.8)();
			event.preventDefault();
		}, { passive: false });
		[["1:1", "0"], ["+", "+"], ["−", "-"]].forEach(([text, key]) => {
			add(figure.querySelector("figcaption"), "button", { type: "button", title: "zoom (keys + - 0 and arrows)" }, text)
				.addEventListener("click", actions[key]);
		});
	}
	all(".plot").filter(figure => figure.querySelector("svg")).forEach(zoomable);

	/* --- single trials over "best so far" --- */
	function time(ns) {
		const units = ["ns", "µs", "ms", "s"];
		let unit = 0;
		for (; Math.abs(ns) >= 999.9 && unit < 3; unit++)
			ns /= 1e3;
		return +ns.toPrecision(4) + " " + units[unit];
	}
	/* WORDS: first value, last value, whether the scale is logarithmic. */
	function scale(words, from, to) {
		const as = words[2] === 1 ? Math.log : Number, first = as(words[0]), last = as(words[1]);
		return value => from + (as(value) - first) / (last - first) * (to - from);
	}
	const rows = JSON.parse(document.getElementById("data").textContent).best;
	const tip = add(document.body, "div", { "class": "tip", style: "display: none" });
	all("section[data-row]").forEach(section => {
		const points = rows[+section.getAttribute("data-row")].space.points.filter(point => point.ns !== null);
		const drawn = section.querySelector(".progress .data");
		if (!drawn || !points.length)
			return;
		const [left, top, right, bottom] = numbers(drawn, "data-area"), svg = drawn.ownerSVGElement;
		const x = scale(numbers(drawn, "data-x"), left, right), y = scale(numbers(drawn, "data-y"), bottom, top);
		svg.addEventListener("mousemove", event => {
			const at = place(svg, event), far = point => Math.hypot(x(point.elapsed_s) - at.x, y(point.ns) - at.y);
			const near = points.reduce((a, b) => far(b) < far(a) ? b : a);
			tip.style.display = far(near) < 20 ? "block" : "none";
			tip.style.left = Math.min(event.clientX + 12, innerWidth - 300) + "px";
			tip.style.top = event.clientY + 14 + "px";
			tip.textContent = `trial ${near.trial}, ${near.elapsed_s.toPrecision(4)} s: ${time(near.ns)}, ${near.geometry}`;
		});
		svg.addEventListener("mouseleave", () => { tip.style.display = "none"; });
	});

	/* --- the tie set: a range on an axis leaves the lines that go through it --- */
	function brushed(svg) {
		const lines = all(".tie", svg), ranges = {};
		const count = add(svg.parentNode, "p", { "class": "none", "aria-live": "polite" });

		function filter() {
			const is_off = at => Object.keys(ranges).some(axis => at[axis] < ranges[axis][0] || at[axis] > ranges[axis][1]);
			lines.forEach(line => line.classList.toggle("off", is_off(numbers(line, "data-at"))));
			count.textContent = `${all(".tie:not(.off)", svg).length} of ${lines.length} lines; drag along an axis to choose`;
		}
		all(".axis", svg).forEach(axis => {
			const name = axis.getAttribute("data-axis"), line = axis.querySelector("line");
			const first = line.x1.baseVal.value, last = line.x2.baseVal.value;
			const shape = { y: +axis.getAttribute("data-y") - 9, height: 18 };
			const extent = add(axis, "rect", { "class": "extent", x: 0, width: 0, ...shape });
			const ground = add(axis, "rect", { "class": "ground", x: first, width: last - first, ...shape });
			let start = null;
			ground.addEventListener("pointerdown", event => {
				start = place(svg, event).x;
				delete ranges[name];
				extent.setAttribute("width", 0);
				ground.setPointerCapture(event.pointerId);
				filter();
			});
			ground.addEventListener("pointermove", event => {
				if (start === null)
					return;
				const range = [start, Math.max(first, Math.min(last, place(svg, event).x))].sort((a, b) => a - b);
				ranges[name] = range;
				extent.setAttribute("x", range[0]);
				extent.setAttribute("width", range[1] - range[0]);
				filter();
			});
			["pointerup", "pointercancel"].forEach(end => ground.addEventListener(end, () => { start = null; }));
		});
		filter();
	}
	all(".ties svg").filter(svg => all(".tie", svg).length > 1).forEach(brushed);

	/* --- the table: filter and order --- */
	const table = document.querySelector("table.summary"), body = all("tr[data-row]", table);
	const label = add(document.getElementById("tools"), "label", {}, "Only results with ");
	add(label, "input", { type: "search", placeholder: "words, as in q4k hot" }).addEventListener("input", event => {
		const words = event.target.value.toLowerCase().split(/\s+/);
		body.forEach(row => {
			const text = row.textContent.toLowerCase();
			const display = words.every(word => text.includes(word)) ? "" : "none";
			row.style.display = display;
			document.querySelector(`section[data-row='${row.getAttribute("data-row")}']`).style.display = display;
		});
	});
	const key = cell => cell.getAttribute("data-v") || cell.textContent; /* times differ in their units */
	all("th", table).forEach((head, column) => {
		const title = head.textContent;
		let up = false;
		head.textContent = "";
		add(head, "button", { "class": "sort", type: "button", title: "sort" }, title).addEventListener("click", () => {
			up = !up;
			body.slice().sort((a, b) => {
				const s = key(a.cells[column]), t = key(b.cells[column]), difference = parseFloat(s) - parseFloat(t);
				return (up ? 1 : -1) * (isNaN(difference) ? s.localeCompare(t) : difference);
			}).forEach(row => row.parentNode.appendChild(row));
		});
	});
	document.documentElement.setAttribute("data-script", "");
}());
