/**
 * The sign-in and consent pages.
 *
 * `form-action` of the Content-Security-Policy names this service and the client's redirect URI, because browsers also apply
 * it to the redirect after the form. All text that comes from clients, providers and users is escaped.
 */

import type { SignInProvider } from '../access/sign-in-providers.ts'
import { answer, type OauthAnswer } from '../../boundary/plan/oauth-call.ts'
import { escapeHtml as escape } from '../../foundation/domain/html.ts'
import { formTargets } from './form-targets.ts'
import { htmlPage } from './html-page.ts'

export interface LoginPage {
  readonly app: string
  readonly api: string
  readonly transaction: string
  readonly redirectUri: string
  /** Null: the client belongs to an organisation. */
  readonly organisation: string | null
  readonly username: string
  /** Why the previous attempt failed; null on the first. */
  readonly fault: string | null
  /** Identity providers that sign people in. */
  readonly providers: readonly SignInProvider[]
  /** The providers of the organisation are on a page of their own, whether or not it has any. */
  readonly offersProviders: boolean
}

export type ProvidersPage = Pick<LoginPage, 'app' | 'transaction' | 'redirectUri' | 'providers'>

export interface ConsentPage {
  readonly app: string
  readonly api: string
  readonly person: string
  readonly scopes: readonly string[]
  /** The client receives the name and the user name of the person. */
  readonly sharesIdentity: boolean
  /** Shown this once, after the second factor was set up. */
  readonly recoveryCodes: readonly string[]
  readonly transaction: string
  readonly redirectUri: string
  /** The code that the device shows; null if a browser returns to the client. */
  readonly userCode: string | null
  /** The client gets a refresh token. */
  readonly isKept: boolean
  /** The client registered itself, and its name is not verified. */
  readonly isSelfRegistered: boolean
}

/** Needs no user name or password. */
const OTHER_WAYS = `<button type="submit" name="provider" value="" formnovalidate class="quiet">Continue with the provider of your organisation</button>
`

const UNCHECKED = `<p role="alert">This app registered itself, and nobody has checked its name. Allow it only if you started this yourself, and know the address below.</p>
`

export function loginPage(page: LoginPage, status = 200, headers: Readonly<Record<string, string>> = {}): OauthAnswer {
  const { app, api, transaction, redirectUri, organisation, username, fault, providers, offersProviders } = page
  const described = fault === null ? '' : ' aria-describedby="fault" aria-invalid="true"'
  const first = organisation === '' ? 'organisation' : username === '' ? 'username' : 'password'
  const focus = (name: string): string => (name === first ? ' autofocus' : '')
  const organisationInput =
    organisation === null
      ? ''
      : `<label for="organisation">Organisation</label>
<input id="organisation" name="organisation" type="text" autocomplete="organization" autocapitalize="none" spellcheck="false" maxlength="256" required value="${escape(organisation)}"${focus('organisation')}>
`
  const body = `<h1>Sign in</h1>
<p><strong>${escape(app)}</strong> asks to use ${api === '' ? 'APIs' : `<strong>${escape(api)}</strong>`} on your behalf.</p>
${fault === null ? '' : `<p class="fault" id="fault" role="alert">${escape(fault)}</p>`}
<form method="post" action="/oauth2/v2/authorize">
<input type="hidden" name="transaction" value="${escape(transaction)}">
${organisationInput}<label for="username">User name</label>
<input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="128" required value="${escape(username)}"${described}${focus('username')}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="256" required${described}${focus('password')}>
<button type="submit">Sign in</button>
${offersProviders ? OTHER_WAYS : ''}</form>${providers.length === 0 ? '' : `\n${providerForm(page)}`}`
  return html(status, 'Sign in', body, headers, `${formTargets(redirectUri)}${providerTargets(providers)}`)
}

/** Lists the identity providers of the organisation that the person has named. */
export function providersPage(page: ProvidersPage): OauthAnswer {
  const { app, redirectUri, providers } = page
  const body = `<h1>Sign in</h1>
<p>Choose how to sign in to <strong>${escape(app)}</strong>.</p>
${providerForm(page)}`
  return html(200, 'Sign in', body, {}, `${formTargets(redirectUri)}${providerTargets(providers)}`)
}

function providerForm({ providers, transaction }: ProvidersPage): string {
  const buttons = providers.map(
    ({ id, name }) =>
      `<button type="submit" name="provider" value="${escape(id)}" class="quiet">Continue with ${escape(name)}</button>`,
  )
  return `<form method="post" action="/oauth2/v2/authorize">
<input type="hidden" name="transaction" value="${escape(transaction)}">
${buttons.join('\n')}
</form>`
}

export function consentPage(page: ConsentPage, headers: Readonly<Record<string, string>>): OauthAnswer {
  const { app, api, person, scopes, sharesIdentity, recoveryCodes, transaction, redirectUri, userCode } = page
  const items = [...(sharesIdentity ? ['your name and user name'] : []), ...scopes]
  const list = items.map((item) => `<li>${escape(item)}</li>`).join('\n')
  const access =
    items.length === 0
      ? '<p>It asks for no permissions, and can use only what is open to everyone.</p>'
      : `<p>${api === '' ? 'It' : `At <strong>${escape(api)}</strong> it`} will have access to:</p>\n<ul>\n${list}\n</ul>`
  const codes = recoveryCodes.map((code) => `<li>${escape(code)}</li>`).join('\n')
  const recovery =
    codes === ''
      ? ''
      : `<p>Your second factor is set up. Keep these recovery codes; each replaces a code once, and they are not shown again:</p>\n<ul>\n${codes}\n</ul>\n`
  const body = `${recovery}<h1>Allow ${escape(app)} to act on your behalf?</h1>
<p>You are signed in as <strong>${escape(person)}</strong>.</p>
${access}
${notices(page)}${destination(redirectUri, userCode)}
<form method="post" action="/oauth2/v2/authorize">
<input type="hidden" name="transaction" value="${escape(transaction)}">
<button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny" class="quiet">Deny</button>
</form>`
  return html(200, 'Allow access', body, headers, formTargets(redirectUri))
}

/** For faults that are shown to the person, because the client is unknown or must not receive them. */
export function faultPage(fault: string, status = 400, headers: Readonly<Record<string, string>> = {}): OauthAnswer {
  const body = `<h1>This sign-in cannot continue</h1>
<p role="alert">${escape(fault)}</p>
<p>Go back to the app and start again.</p>`
  return html(status, 'Sign-in', body, headers, "'none'")
}

function html(
  status: number,
  title: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  formAction: string,
): OauthAnswer {
  const page = htmlPage(title, body, formAction)
  return answer(status, page.text, { ...page.headers, ...headers })
}

/** A provider redirects among hosts of its own, which cannot be listed. */
function providerTargets(providers: readonly SignInProvider[]): string {
  return [...new Set(providers.map(({ issuer }) => ` ${new URL(issuer).protocol}`))].join('')
}

function notices({ isKept, isSelfRegistered }: ConsentPage): string {
  const kept = isKept ? '<p>It keeps this access for up to 90 days, until you end the session.</p>\n' : ''
  return isSelfRegistered ? `${kept}${UNCHECKED}` : kept
}

/** A device may have been set up by someone else, who sent the person here (RFC 8628, 5.4). */
function destination(redirectUri: string, userCode: string | null): string {
  if (userCode === null)
    return `<p>You will be redirected to <strong>${escape(destinationOf(redirectUri))}</strong>.</p>`
  return `<p role="alert">A device asks for this access. Allow it only if you started this yourself, and the device in front of you shows the code <strong>${escape(userCode)}</strong>.</p>`
}

function destinationOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri)
  return host === '' ? protocol.slice(0, -1) : host
}
