/**
 * The page of a one-time link, where a person sets a password.
 *
 * A GET changes nothing, so that programs that open links in advance do not use them up. The page names no reason why a link does
 * not work.
 */

import { answer, type OauthAnswer, type OauthEndpoint } from '../../boundary/plan/oauth-call.ts'
import { escapeHtml } from '../../foundation/domain/html.ts'
import { htmlPage } from './html-page.ts'
import type { Person } from './userinfo.ts'

export interface PasswordPageOptions {
  /** Returns null if the link is not open. */
  readonly openLink: (text: string) => Promise<(Person & { readonly tenant: string }) | null>
  /** Sets the password; returns false if the link is not open. */
  readonly useLink: (text: string, password: string) => Promise<boolean>
  readonly isPassword: (text: string) => boolean
  /** The address of the platform, which has the console. */
  readonly baseUrl: string
}

const RULE = 'The password needs 12 to 256 characters, without control characters.'

export function createPasswordPage({ openLink, useLink, isPassword, baseUrl }: PasswordPageOptions): OauthEndpoint {
  return async ({ method, form }) => {
    const fields = new Map(form)
    const link = fields.get('link')
    if (link === undefined || fields.size !== form.length) return closedPage()
    const person = await openLink(link)
    if (person === null) return closedPage()
    const password = fields.get('password')
    if (method === 'GET' || password === undefined) return formPage(link, person, null)
    if (!isPassword(password)) return formPage(link, person, RULE)
    return (await useLink(link, password)) ? donePage(baseUrl, person.tenant) : closedPage()
  }
}

function formPage(link: string, { name, username }: Person, fault: string | null): OauthAnswer {
  const described = fault === null ? '' : ' aria-describedby="fault" aria-invalid="true"'
  const body = `<h1>Set a password</h1>
<p>For <strong>${escapeHtml(name)}</strong>, user name <strong>${escapeHtml(username)}</strong>.</p>
${fault === null ? `<p>${RULE}</p>` : `<p class="fault" id="fault" role="alert">${escapeHtml(fault)}</p>`}
<form method="post" action="/oauth2/v2/password">
<input type="hidden" name="link" value="${escapeHtml(link)}">
<input type="text" autocomplete="username" value="${escapeHtml(username)}" hidden readonly>
<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="12" maxlength="256" required autofocus${described}>
<button type="submit">Set password</button>
</form>`
  return page(fault === null ? 200 : 400, 'Set a password', body, "'self'")
}

/** The link begins the sign-in of the console for the organisation of the person. */
function donePage(baseUrl: string, tenant: string): OauthAnswer {
  const query = new URLSearchParams({ organisation: tenant }).toString()
  const body = `<h1>Your password is set</h1>
<p>Sign in to the app with it, or <a href="${escapeHtml(`${baseUrl}/console/sign-in?${query}`)}">sign in to the console</a>.</p>`
  return page(200, 'Password set', body, "'none'")
}

function closedPage(): OauthAnswer {
  const body = `<h1>This link does not work</h1>
<p role="alert">It has expired, or it was used or replaced.</p>
<p>Ask for a new link.</p>`
  return page(400, 'Link', body, "'none'")
}

function page(status: number, title: string, body: string, formAction: string): OauthAnswer {
  const { text, headers } = htmlPage(title, body, formAction)
  return answer(status, text, headers)
}
