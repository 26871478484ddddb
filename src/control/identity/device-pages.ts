/** The pages on which a person enters the code of a device, and that end its sign-in. */

import { answer, type OauthAnswer } from '../../boundary/plan/oauth-call.ts'
import { escapeHtml } from '../../foundation/domain/html.ts'
import { htmlPage } from './html-page.ts'

export interface UserCodePage {
  readonly transaction: string
  readonly userCode: string
  /** Why the previous attempt failed; null on the first. */
  readonly fault: string | null
}

export function userCodePage(
  { transaction, userCode, fault }: UserCodePage,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): OauthAnswer {
  const described = fault === null ? '' : ' aria-describedby="fault" aria-invalid="true"'
  const body = `<h1>Connect a device</h1>
<p>Enter the code that the device shows. If you did not start this on a device of yours, close this page.</p>
${fault === null ? '' : `<p class="fault" id="fault" role="alert">${escapeHtml(fault)}</p>`}
<form method="post" action="/oauth2/v2/device">
<input type="hidden" name="transaction" value="${escapeHtml(transaction)}">
<label for="user_code">Code</label>
<input id="user_code" name="user_code" type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="32" required autofocus value="${escapeHtml(userCode)}"${described}>
<button type="submit">Continue</button>
</form>`
  return page(status, 'Connect a device', body, "'self'", headers)
}

export function deviceAllowedPage(): OauthAnswer {
  const body = '<h1>The device is connected</h1>\n<p>You can close this page and continue on the device.</p>'
  return page(200, 'Device connected', body, "'none'")
}

export function deviceRefusedPage(reason: string): OauthAnswer {
  const body = `<h1>The device is not connected</h1>
<p role="alert">${escapeHtml(reason)}</p>
<p>You can close this page.</p>`
  return page(400, 'Device not connected', body, "'none'")
}

function page(
  status: number,
  title: string,
  body: string,
  formAction: string,
  more: Readonly<Record<string, string>> = {},
): OauthAnswer {
  const { text, headers } = htmlPage(title, body, formAction)
  return answer(status, text, { ...headers, ...more })
}
