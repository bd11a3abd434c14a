// SPDX-License-Identifier: Apache-2.0

extension StatusPage {
    /// Colours have a contrast of at least 4.5 to 1 for text, in light and in dark.
    static let style = """
        :root { --ground: #f4f5f7; --card: #fff; --text: #1b1f24; --dim: #59636e; --line: #d5dae0;
          --ok: #11683a; --wait: #8a4b00; --bad: #b3161b; --in: #0b62c4; --out: #11683a; }
        @media (prefers-color-scheme: dark) {
          :root { --ground: #0e1116; --card: #171b22; --text: #e8ecf1; --dim: #9aa5b1; --line: #303843;
            --ok: #4cc38a; --wait: #f0a94a; --bad: #ff7b7b; --in: #6cb0ff; --out: #4cc38a; }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--ground); color: var(--text);
          font: 16px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
        main { max-width: 64rem; margin: 0 auto; padding: 1.25rem 1rem 2rem; outline: none; }
        h1 { font-size: 1.25rem; margin: 0 0 .5rem; }
        h2 { font-size: .875rem; margin: 0 0 .5rem; color: var(--dim); font-weight: 600; }
        p { margin: .25rem 0; }
        bdi { overflow-wrap: anywhere; }
        .state strong { font-size: 1.125rem; }
        header .state { font-size: 1rem; }
        header .state strong { font-size: 2rem; line-height: 1.2; margin-right: .35rem; }
        .state.ok strong { color: var(--ok); }
        .state.wait strong { color: var(--wait); }
        .state.bad strong { color: var(--bad); }
        .where, footer, .hint, figcaption { color: var(--dim); font-size: .8125rem; }
        .cards { display: grid; gap: .75rem; margin: 1rem 0; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
        .card, .notices { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .875rem 1rem; }
        .wide { grid-column: 1 / -1; }
        .figure { font-size: 2rem; line-height: 1.2; margin: 0 0 .5rem; font-variant-numeric: tabular-nums; }
        small { font-size: .875rem; color: var(--dim); }
        dl { display: grid; grid-template-columns: auto 1fr; gap: .15rem .75rem; margin: 0; }
        dt { color: var(--dim); }
        dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; }
        dl.key { grid-template-columns: repeat(2, auto 1fr); }
        dl.key dd { text-align: left; }
        dl.key dt::before { content: ""; display: inline-block; width: .75rem; height: .2rem; margin-right: .4rem; vertical-align: middle; }
        dt.in::before { background: var(--in); }
        dt.out::before { background: var(--out); }
        figure { margin: .5rem 0 0; }
        .chart { display: block; width: 100%; height: 8.75rem; }
        .chart polyline { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
        .chart .in { stroke: var(--in); stroke-dasharray: 5 3; }
        .chart .out { stroke: var(--out); }
        .chart .grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; fill: none; }
        figcaption { display: flex; justify-content: space-between; }
        .equation { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem .75rem; margin: 0 0 .5rem; padding: 0; }
        .equation b { font-size: 1.125rem; font-variant-numeric: tabular-nums; }
        .sign { color: var(--dim); }
        table { width: 100%; border-collapse: collapse; font-size: .9375rem; }
        th { text-align: left; font-weight: 400; }
        thead th { color: var(--dim); font-size: .8125rem; }
        td, thead th:not(:first-child) { text-align: right; font-variant-numeric: tabular-nums; }
        tbody tr { border-top: 1px solid var(--line); }
        td, th { padding: .2rem .25rem .2rem 0; }
        .notices { list-style: none; margin: 0; }
        .notices li + li { margin-top: .35rem; }
        .notices .problem::before { content: "Problem: "; color: var(--bad); font-weight: 600; }
        .notices .note::before { content: "Note: "; color: var(--wait); font-weight: 600; }
        section > h2 + .notices { margin-top: 0; }
        header + section { margin-top: 1rem; }
        summary { cursor: pointer; color: var(--dim); font-size: .8125rem; width: fit-content; }
        a { color: inherit; }
        a:focus-visible, summary:focus-visible { outline: 2px solid var(--in); outline-offset: 2px; border-radius: 2px; }
        code { font-size: .9em; }
        #stale { position: fixed; inset: auto 0 0; margin: 0; padding: .6rem 1rem; text-align: center; background: var(--bad); color: var(--card); }
        """

    /// Loads the page again and puts its content in place of the old one, unless somebody is in the middle of it: what is
    /// open stays open, and what has the focus keeps it.
    static let script = """
        const page = document.getElementById('page'), stale = document.getElementById('stale');
        async function load() {
          if (!document.hidden) try {
            const answer = await fetch(location.pathname, { cache: 'no-store' });
            if (!answer.ok) throw new Error(answer.status);
            const [, title, main] = /<title>(.*?)<.title>[^]*?(<main[^]*<.main>)/.exec(await answer.text());
            const next = new DOMParser().parseFromString(main, 'text/html');
            const places = () => [...page.querySelectorAll('a, summary')];
            const focus = places().indexOf(document.activeElement);
            const open = [...page.querySelectorAll('details')].map((one) => one.open);
            page.replaceChildren(...next.getElementById('page').childNodes);
            page.querySelectorAll('details').forEach((one, index) => { one.open = open[index] || false; });
            if (focus >= 0) places()[focus]?.focus({ preventScroll: true });
            document.title = title;
            stale.hidden = true;
          } catch { stale.hidden = false; }
          setTimeout(load, 5000);
        }
        setTimeout(load, 5000);
        """
}
