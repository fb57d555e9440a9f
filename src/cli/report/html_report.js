/* SPDX-License-Identifier: MIT */
/* What D3 adds to a page that is whole without it: zooming, brushing, a look at single trials, filter and order of
 * the table.  D3 3, as Debian has it. */
(function () {
	"use strict";
	var note = document.getElementById("library");
	if (typeof d3 === "undefined" || !/^3\./.test(d3.version)) {
		note.textContent = "The library that was put into this page is not D3 3: plots are as they were drawn.";
		return;
	}
	var rows = JSON.parse(document.getElementById("data").textContent).best;

	/* --- zooming: by buttons and keys, and by the wheel with Ctrl, so that the page scrolls as ever --- */
	function scaleOf(words, from, to) {
		var w = words.split(" ").map(Number);
		return (w[2] === 1 ? d3.scale.log() : d3.scale.linear()).domain([w[0], w[1]]).range([from, to]);
	}
	function time(ns, digits) {
		var units = ["ns", "µs", "ms", "s"], unit = 0;
		for (; Math.abs(ns) >= 999.9 && unit < 3; unit++)
			ns /= 1e3;
		return +ns.toPrecision(digits) + " " + units[unit];
	}
	function label(value, words) {
		if (/ 1$/.test(words))
			return time(value, 4);
		return Math.abs(value) >= 1e4 ? d3.format(".4s")(value).replace("G", " G") : String(+value.toPrecision(4));
	}
	function redraw(svg, g, area, x, y) {
		var axes = svg.select(".axes");
		var xWords = g.getAttribute("data-x"), yWords = g.getAttribute("data-y");
		axes.selectAll("line, text").remove();
		var xs = x.ticks(5).filter(function (v, i, all) { return all.length < 12 || /^[125]/.test(v.toPrecision(1)); });
		xs.forEach(function (v) {
			axes.append("line").attr("class", "grid").attr({ x1: x(v), x2: x(v), y1: area[1], y2: area[3] });
			axes.append("text").attr("class", "mid").attr({ x: x(v), y: area[3] + 15 }).text(label(v, xWords));
		});
		if (!y)
			return;
		var ys = y.ticks(5).filter(function (v, i, all) { return all.length < 12 || /^[125]/.test(v.toPrecision(1)); });
		ys.forEach(function (v) {
			axes.append("line").attr("class", "grid").attr({ x1: area[0], x2: area[2], y1: y(v), y2: y(v) });
			axes.append("text").attr("class", "end").attr({ x: area[0] - 5, y: y(v) + 4 }).text(label(v, yWords));
		});
	}
	var clips = 0;
	function zoomable(g) {
		var area = g.getAttribute("data-area").split(" ").map(Number);
		var words = g.getAttribute("data-y"), svg = d3.select(g.parentNode), id = "clip" + ++clips;
		if (/-1$/.test(words)) /* rows, not a scale */
			return;
		var x = scaleOf(g.getAttribute("data-x"), area[0], area[2]), y = scaleOf(words, area[3], area[1]);
		svg.append("clipPath").attr("id", id).append("rect").attr({ x: area[0], y: area[1], width: area[2] - area[0],
			height: area[3] - area[1] });
		var holder = svg.insert("g", function () { return g; }).attr("clip-path", "url(#" + id + ")");
		holder.node().appendChild(g);
		var first = { x: x.domain(), y: y.domain() };
		var zoom = d3.behavior.zoom().x(x).y(y).scaleExtent([1, 200]).on("zoom", apply);
		function apply() {
			var s = zoom.scale(), t = zoom.translate();
			g.setAttribute("transform", "translate(" + t + ") scale(" + s + ")");
			d3.select(g).selectAll("circle").attr("r", 4 / s);
			redraw(svg, g, area, x, y);
		}
		function by(factor) {
			var t = zoom.translate(), s = Math.max(1, Math.min(200, zoom.scale() * factor)), f = s / zoom.scale();
			var c = [(area[0] + area[2]) / 2, (area[1] + area[3]) / 2];
			zoom.scale(s).translate([c[0] + (t[0] - c[0]) * f, c[1] + (t[1] - c[1]) * f]);
			apply();
		}
		function move(dx, dy) {
			var t = zoom.translate();
			zoom.translate([t[0] + dx, t[1] + dy]);
			apply();
		}
		function reset() {
			zoom.x(x.domain(first.x)).y(y.domain(first.y)).scale(1).translate([0, 0]);
			apply();
		}
		svg.attr("tabindex", 0).on("keydown", function () {
			var actions = { "+": [by, 1.5], "=": [by, 1.5], "-": [by, 1 / 1.5], "0": [reset],
				ArrowLeft: [move, 30, 0], ArrowRight: [move, -30, 0], ArrowUp: [move, 0, 30],
				ArrowDown: [move, 0, -30] };
			var action = actions[d3.event.key];
			if (!action || d3.event.ctrlKey || d3.event.metaKey)
				return;
			action[0](action[1], action[2]);
			d3.event.preventDefault();
		});
		svg.on("wheel", function () {
			if (!d3.event.ctrlKey)
				return;
			by(d3.event.deltaY < 0 ? 1.25 : 0.8);
			d3.event.preventDefault();
		});
		var caption = d3.select(svg.node().parentNode).select("figcaption");
		[["1:1", reset], ["+", function () { by(1.5); }], ["−", function () { by(1 / 1.5); }]].forEach(function (b) {
			caption.append("button").attr({ type: "button", title: "zoom (keys + - 0 and arrows)" }).text(b[0])
				.on("click", b[1]);
		});
	}
	d3.selectAll(".data").each(function () { zoomable(this); });

	/* --- single trials over "best so far" --- */
	var tip = d3.select("body").append("div").attr("class", "tip").style("display", "none");
	d3.selectAll("section[data-row]").each(function () {
		var space = rows[+this.getAttribute("data-row")].space, section = d3.select(this);
		var g = section.select(".progress .data").node();
		if (!g || !space.points.length)
			return;
		var area = g.getAttribute("data-area").split(" ").map(Number);
		var x = scaleOf(g.getAttribute("data-x"), area[0], area[2]);
		var y = scaleOf(g.getAttribute("data-y"), area[3], area[1]);
		var valid = space.points.filter(function (p) { return p.ns !== null; });
		section.select(".progress svg").on("mousemove", function () {
			var at = d3.mouse(g), near = null, least = 400;
			valid.forEach(function (p) {
				var dx = x(p.elapsed_s) - at[0], dy = y(p.ns) - at[1], d = dx * dx + dy * dy;
				if (d < least) {
					least = d;
					near = p;
				}
			});
			tip.style("display", near ? "block" : "none");
			if (near)
				tip.text("trial " + near.trial + ", " + near.elapsed_s.toPrecision(4) + " s: " +
					time(near.ns, 4) + ", " + near.geometry)
					.style({ left: Math.min(d3.event.clientX + 12, innerWidth - 300) + "px",
						top: d3.event.clientY + 14 + "px" });
		}).on("mouseleave", function () { tip.style("display", "none"); });
	});

	/* --- brushing the tie set: a range on an axis leaves the lines that go through it --- */
	d3.selectAll(".ties svg").each(function () {
		var svg = d3.select(this), ranges = {}, lines = svg.selectAll(".tie");
		var count = d3.select(this.parentNode).append("p").attr({ "class": "none", "aria-live": "polite" });
		function filter() {
			var kept = 0;
			lines.classed("off", function () {
				var at = this.getAttribute("data-at").split(" ").map(Number);
				var off = Object.keys(ranges).some(function (a) {
					return at[a] < ranges[a][0] || at[a] > ranges[a][1];
				});
				kept += !off;
				return off;
			});
			count.text(kept + " of " + lines.size() + " lines; drag along an axis to choose");
		}
		svg.selectAll(".axis").each(function () {
			var a = this.getAttribute("data-axis"), line = d3.select(this).select("line");
			var x = d3.scale.linear().domain([+line.attr("x1"), +line.attr("x2")]).range([+line.attr("x1"), +line.attr("x2")]);
			var brush = d3.svg.brush().x(x).on("brush", function () {
				if (brush.empty())
					delete ranges[a];
				else
					ranges[a] = brush.extent();
				filter();
			});
			d3.select(this).append("g").attr("class", "brush").call(brush).selectAll("rect")
				.attr({ y: +this.getAttribute("data-y") - 9, height: 18 });
		});
		if (lines.size() > 1)
			filter();
	});

	/* --- the table: filter and order --- */
	var table = d3.select("table.summary"), body = table.selectAll("tr[data-row]");
	var tools = d3.select("#tools").append("label").text("Only results with ");
	tools.append("input").attr({ type: "search", placeholder: "words, as in q4k hot" }).on("input", function () {
		var words = this.value.toLowerCase().split(/\s+/);
		function hidden(text) {
			return words.every(function (w) { return text.indexOf(w) >= 0; }) ? null : "none";
		}
		body.each(function () {
			var display = hidden(this.textContent.toLowerCase());
			this.style.display = display || "";
			d3.select("section[data-row='" + this.getAttribute("data-row") + "']").style("display", display);
		});
	});
	function key(cell) { /* times differ in their units */
		return cell.getAttribute("data-v") || cell.textContent;
	}
	table.selectAll("th").each(function (d, column) {
		var title = this.textContent, up = false;
		d3.select(this).text("").append("button").attr({ "class": "sort", type: "button", title: "sort" }).text(title)
			.on("click", function () {
				up = !up;
				var parent = body.node().parentNode, list = body[0].slice();
				list.sort(function (a, b) {
					var s = key(a.cells[column]), t = key(b.cells[column]);
					var order = isNaN(parseFloat(s)) || isNaN(parseFloat(t)) ? s.localeCompare(t)
						: parseFloat(s) - parseFloat(t);
					return up ? order : -order;
				});
				list.forEach(function (row) { parent.appendChild(row); });
			});
	});
	document.documentElement.setAttribute("data-library", d3.version);
}());
