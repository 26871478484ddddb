/**
 * The page at `/` of the gateway and of the platform, for browsers: what this service is, links, and the
 * first commands.
 *
 * Plain HTML without scripts. Only its own style may load, and no other page may frame it. It contains
 * addresses and placeholders, never a credential. Clients that do not accept HTML get an index in JSON from the platform, and from the
 * gateway the problem document 404, as for any unknown path.
 */

import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { escapeHtml as escape } from '../../foundation/domain/html.ts'
import { preferredType } from '../../foundation/runtime/accept.ts'
import { FIRST_STEPS_TITLE, firstSteps, SAMPLE_CALL } from './first-steps.ts'

export interface RootPageOptions {
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly riskUrl: string
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2024;--quiet:#5b6470;--paper:#fff;--ground:#f3f4f6;--act:#1f4fd8;--line:#d5d9e0}
@media (prefers-color-scheme:dark){:root{--ink:#eceef1;--quiet:#a9b1bd;--paper:#1b1e23;--ground:#111317;--act:#8fb0ff;--line:#3a414c}}
*{box-sizing:border-box}
body{margin:0;padding:2rem 1rem;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{max-width:46rem;margin:0 auto;background:var(--paper);border-radius:.75rem;padding:2rem;box-shadow:0 1px 3px rgb(0 0 0/.2)}
h1{font-size:1.5rem;margin:0 0 .25rem}
h2{font-size:1.1rem;margin:2rem 0 .5rem}
p{margin:0 0 1rem;color:var(--quiet)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.4rem 1.25rem;margin:1.5rem 0 0}
dt{font-weight:600}
dd{margin:0;overflow-wrap:anywhere}
a{color:var(--act)}
pre{margin:0;padding:1rem;border:1px solid var(--line);border-radius:.5rem;overflow-x:auto;font-size:.8rem;line-height:1.6}
code{font-family:ui-monospace,monospace}
:focus-visible{outline:3px solid var(--act);outline-offset:2px}
@media (max-width:30rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.75rem}main{padding:1.25rem}}
`

const HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
}

export function rootPage(options: RootPageOptions): string {
  const { gatewayUrl, baseUrl, riskUrl } = options
  const link = (address: string, text: string): string => `<a href="${escape(address)}">${escape(text)}</a>`
  const rows = [
    ['Gateway', `<code>${escape(gatewayUrl)}</code>: calls of APIs and their tokens`],
    ['Platform API', `<code>${escape(baseUrl)}</code>: APIs, subscriptions, usage, risks`],
    ['Documents', link(`${baseUrl}/openapi.json`, 'OpenAPI document of the platform API')],
    ['Health', `${link(`${baseUrl}/healthz`, 'alive')}, ${link(`${baseUrl}/readyz`, 'ready')}`],
    ['Keys', link(`${gatewayUrl}/.well-known/jwks`, 'public keys that verify tokens')],
  ]
  const commands = firstSteps({ gatewayUrl, baseUrl, riskUrl, admin: null, client: null, ...SAMPLE_CALL })
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>tollgate</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>tollgate</h1>
<p>An API gateway: it authenticates, limits, meters and bills calls, and reports risks as they happen.</p>
<dl>
${rows.map(([term, text]) => `<dt>${term}</dt><dd>${text}</dd>`).join('\n')}
</dl>
<h2>First commands, for the sample API</h2>
<p>${FIRST_STEPS_TITLE}. Put your credentials in place of <code>YOUR_…</code>; the first start of the service printed them.</p>
<pre tabindex="0"><code>${escape(commands.join('\n'))}</code></pre>
</main>
</body>
</html>
`
}

/** Whether a request is from a browser that asks for the page. */
export function asksForRootPage({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  return preferredType(headers.accept, ['application/problem+json', 'text/html']) === 'text/html'
}

/** A response to a browser. */
interface PageResponse {
  /** `headers` is name, value, …. */
  writeHead(status: number, headers: string[]): unknown
  end(body?: string): unknown
}

/** Sends the page; the server omits the body for HEAD. */
export function sendRootPage(response: PageResponse, page: string): void {
  response.writeHead(200, [...Object.entries(HEADERS).flat(), 'Content-Length', String(Buffer.byteLength(page))])
  response.end(page)
}

export function sendToConsole(response: PageResponse): void {
  response.writeHead(302, ['Location', '/console/', 'Cache-Control', 'no-store'])
  response.end()
}
