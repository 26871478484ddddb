/** The pages of a sign-in that ask for the second factor, and that set it up if the policy of the tenant requires one. */

import { answer, type OauthAnswer } from '../../boundary/plan/oauth-call.ts'
import { escapeHtml } from '../../foundation/domain/html.ts'
import { formTargets } from './form-targets.ts'
import { htmlPage } from './html-page.ts'

export interface CodePage {
  readonly transaction: string
  readonly redirectUri: string
  /** Why the previous attempt failed; null on the first. */
  readonly fault: string | null
  /** The new secret of a person who has no second factor yet. */
  readonly enrol: { readonly secret: string; readonly uri: string } | null
}

export function codePage(page: CodePage, status = 200, retrySeconds = 0): OauthAnswer {
  const { transaction, redirectUri, fault, enrol } = page
  const described = fault === null ? '' : ' aria-describedby="fault" aria-invalid="true"'
  const heading = enrol === null ? 'Enter a code' : 'Set up a second factor'
  const body = `<h1>${heading}</h1>
${enrol === null ? '<p>Enter the code of your authenticator app, or a recovery code.</p>' : instructions(enrol)}
${fault === null ? '' : `<p class="fault" id="fault" role="alert">${escapeHtml(fault)}</p>`}
<form method="post" action="/oauth2/v2/authorize">
<input type="hidden" name="transaction" value="${escapeHtml(transaction)}">
<label for="code">Code</label>
<input id="code" name="code" type="text" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="32" required autofocus${described}>
<button type="submit">Continue</button>
</form>`
  const { text, headers } = htmlPage(heading, body, formTargets(redirectUri))
  return answer(status, text, { ...headers, ...(retrySeconds > 0 && { 'Retry-After': String(retrySeconds) }) })
}

function instructions({ secret, uri }: { readonly secret: string; readonly uri: string }): string {
  const groups = secret.replaceAll(/(.{4})(?=.)/g, '$1 ')
  return `<p>Your organisation requires a second factor. Add this key to an authenticator app, then enter the code that it shows.</p>
<p>Key: <strong>${escapeHtml(groups)}</strong></p>
<p><a href="${escapeHtml(uri)}">Open in an app on this device</a></p>`
}
