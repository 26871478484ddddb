/**
 * The frame of the pages that people see: plain HTML without scripts, for keyboards, screen readers, phones and dark mode.
 *
 * The Content-Security-Policy lets only the page's own style load and forbids framing.
 */

import { createHash } from 'node:crypto'

export interface HtmlPage {
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2024;--quiet:#5b6470;--paper:#fff;--ground:#f3f4f6;--line:#878f9b;--act:#1f4fd8;--on-act:#fff;--bad:#b42318}
@media (prefers-color-scheme:dark){:root{--ink:#eceef1;--quiet:#a9b1bd;--paper:#1b1e23;--ground:#111317;--line:#737c89;--act:#8fb0ff;--on-act:#10131a;--bad:#ff9a8f}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{width:100%;max-width:25rem;background:var(--paper);border-radius:.75rem;padding:2rem;box-shadow:0 1px 3px rgb(0 0 0/.2)}
h1{font-size:1.35rem;line-height:1.3;margin:0 0 .5rem;overflow-wrap:anywhere}
p{margin:0 0 1rem;color:var(--quiet);overflow-wrap:anywhere}
strong{color:var(--ink)}
label{display:block;font-weight:600;margin-top:1rem}
input{width:100%;font:inherit;color:inherit;background:transparent;border:1px solid var(--line);border-radius:.4rem;padding:.6rem .7rem;margin-top:.25rem}
ul{margin:0 0 1rem;padding-left:1.2rem}
li{overflow-wrap:anywhere}
button{font:inherit;font-weight:600;width:100%;border-radius:.4rem;padding:.7rem;margin-top:1rem;border:1px solid var(--act);background:var(--act);color:var(--on-act);cursor:pointer}
button.quiet{background:transparent;color:var(--act)}
:focus-visible{outline:3px solid var(--act);outline-offset:2px}
.fault{color:var(--bad);font-weight:600}
`
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** Returns a page; `title`, `body` and `formAction` contain no text that is not escaped. */
export function htmlPage(title: string, body: string, formAction: string): HtmlPage {
  const text = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    `form-action ${formAction}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy,
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
  }
  return { text, headers }
}
