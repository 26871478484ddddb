/**
 * The login and consent pages: plain HTML without scripts, for keyboards, screen readers, phones and dark mode.
 *
 * The Content-Security-Policy lets only the page's own style load and forbids framing. `form-action` names this service
 * and the client's redirect URI, because browsers also apply it to the redirect after the form. All text that comes from
 * clients, providers and users is escaped.
 */

import { createHash } from 'node:crypto'
import { answer, type OauthAnswer } from '../plan/oauth-call.ts'

export interface LoginPage {
  readonly app: string
  readonly api: string
  readonly transaction: string
  readonly redirectUri: string
  readonly username: string
  /** Why the previous attempt failed; null on the first. */
  readonly fault: string | null
}

export interface ConsentPage {
  readonly app: string
  readonly api: string
  readonly person: string
  readonly scopes: readonly string[]
  /** The client receives the name and the user name of the person. */
  readonly sharesIdentity: boolean
  readonly transaction: string
  readonly redirectUri: string
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

export function loginPage(page: LoginPage, status = 200, headers: Readonly<Record<string, string>> = {}): OauthAnswer {
  const { app, api, transaction, redirectUri, username, fault } = page
  const described = fault === null ? '' : ' aria-describedby="fault" aria-invalid="true"'
  const focus = (isFirst: boolean): string => (isFirst ? ' autofocus' : '')
  const body = `<h1>Log in</h1>
<p><strong>${escape(app)}</strong> asks to use ${api === '' ? 'APIs' : `<strong>${escape(api)}</strong>`} on your behalf.</p>
${fault === null ? '' : `<p class="fault" id="fault" role="alert">${escape(fault)}</p>`}
<form method="post" action="/oauth2/v2/authorize">
<input type="hidden" name="transaction" value="${escape(transaction)}">
<label for="username">User name</label>
<input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="128" required value="${escape(username)}"${described}${focus(username === '')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required${described}${focus(username !== '')}>
<button type="submit">Log in</button>
</form>`
  return html(status, 'Log in', body, headers, formTargets(redirectUri))
}

export function consentPage(page: ConsentPage, headers: Readonly<Record<string, string>>): OauthAnswer {
  const { app, api, person, scopes, sharesIdentity, transaction, redirectUri } = page
  const items = [...(sharesIdentity ? ['your name and user name'] : []), ...scopes]
  const list = items.map((item) => `<li>${escape(item)}</li>`).join('\n')
  const access =
    items.length === 0
      ? '<p>It asks for no permissions, and can use only what is open to everyone.</p>'
      : `<p>${api === '' ? 'It' : `At <strong>${escape(api)}</strong> it`} will have access to:</p>\n<ul>\n${list}\n</ul>`
  const body = `<h1>Allow ${escape(app)} to act on your behalf?</h1>
<p>You are logged in as <strong>${escape(person)}</strong>.</p>
${access}
<p>You will be redirected to <strong>${escape(destinationOf(redirectUri))}</strong>.</p>
<form method="post" action="/oauth2/v2/authorize">
<input type="hidden" name="transaction" value="${escape(transaction)}">
<button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny" class="quiet">Deny</button>
</form>`
  return html(200, 'Allow access', body, headers, formTargets(redirectUri))
}

/** For faults that are shown to the person, because the client is unknown or must not receive them. */
export function faultPage(fault: string, status = 400, headers: Readonly<Record<string, string>> = {}): OauthAnswer {
  const body = `<h1>This login cannot continue</h1>
<p role="alert">${escape(fault)}</p>
<p>Go back to the app and start again.</p>`
  return html(status, 'Login', body, headers, "'none'")
}

function html(
  status: number,
  title: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  formAction: string,
): OauthAnswer {
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
  return answer(status, text, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy,
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    ...headers,
  })
}

/** Origin of an http(s) address, else its scheme: neither can contain a character that ends a policy source. */
function formTargets(redirectUri: string): string {
  const { origin, protocol } = new URL(redirectUri)
  return `'self' ${origin === 'null' ? protocol : origin}`
}

function destinationOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri)
  return host === '' ? protocol.slice(0, -1) : host
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
