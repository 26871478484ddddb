/**
 * The sign-in of the console: authorization code with PKCE at this service itself, as a first-party client.
 *
 * The callback finds what it needs sealed in a cookie, together with the state, so that only the browser that began a sign-in can end it
 * (no session fixation), and only once within ten minutes.
 */

import { createHash } from 'node:crypto'
import { callbackUri, consoleClientId } from '../../control/identity/clients/first-party-clients.ts'
import type { Seals } from '../../control/identity/sealed-transaction.ts'
import type { Admission } from './admission.ts'
import type { ConsoleCookies } from './console-cookies.ts'
import type { ConsoleSessions } from './console-sessions.ts'
import type { TokenSource } from './token-source.ts'

export interface SignIn {
  /** Returns where the browser goes to sign in. `path`: where it returns to in the end. */
  begin(organisation: string, path: string): Redirect
  /** Returns where the browser goes now; a sign-in that failed leads to the page that says so. */
  end(query: Readonly<Record<string, unknown>>, cookie: string | undefined): Promise<Redirect>
}

export interface Redirect {
  readonly location: string
  readonly cookies: readonly string[]
}

export interface SignInState {
  readonly clientId: string
  readonly verifier: string
  readonly path: string
}

export interface SignInOptions {
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly seals: Seals<SignInState>
  readonly cookies: ConsoleCookies
  readonly source: Pick<TokenSource, 'redeem' | 'revoke'>
  readonly admission: Admission
  readonly sessions: Pick<ConsoleSessions, 'begin'>
  readonly randomBytes: (size: number) => Buffer
}

const CONSOLE_PATH = '/console/'
const PATH_LENGTH_MAX = 2_048
/** A path of the console itself: no other origin, and no control character that a browser would drop. */
const OWN_PATH = /^\/console\/(?!\/)[\w\-./~%!$&'()*+,;=:@?]*$/

export function createSignIn(options: SignInOptions): SignIn {
  const { gatewayUrl, baseUrl, seals, cookies, source, sessions, admission, randomBytes } = options
  const issuer = `${gatewayUrl}/platform-v1`
  const redirectUri = callbackUri(baseUrl)
  const failed = (reason: string): Redirect => ({
    location: `${CONSOLE_PATH}?sign-in=${reason}`,
    cookies: [cookies.signIn.clear()],
  })

  return {
    begin(organisation, path) {
      const verifier = randomBytes(32).toString('base64url')
      const state = randomBytes(32).toString('base64url')
      const clientId = consoleClientId(organisation)
      const sealed = seals.seal({ clientId, verifier, path: ownPath(path) }, state)
      const url = new URL(`${gatewayUrl}/oauth2/v2/authorize`)
      url.search = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        resource: issuer,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        state,
      }).toString()
      return { location: url.href, cookies: [cookies.signIn.set(sealed)] }
    },
    async end({ state, iss, code, error }, cookie) {
      const sealed = cookies.signIn.read(cookie)
      const begun = sealed === null || typeof state !== 'string' ? null : seals.open(sealed, state)
      if (begun === null || iss !== issuer) return failed('expired')
      if (typeof code !== 'string') return failed(error === 'access_denied' ? 'denied' : 'failed')
      const { clientId, verifier, path } = begun
      const tokens = await source.redeem({ clientId, code, verifier, redirectUri })
      if (tokens === null) return failed('failed')
      if (!(await admission.admits(tokens.access))) {
        await source.revoke(clientId, tokens.refresh)
        return failed('portal-off')
      }
      const session = await sessions.begin(clientId, tokens)
      return { location: path, cookies: [cookies.signIn.clear(), cookies.session.set(session)] }
    },
  }
}

/** Returns the start page unless the path is one of the console, also after the browser has resolved its dots (`%2e` is one). */
function ownPath(path: string): string {
  if (path.length > PATH_LENGTH_MAX || !OWN_PATH.test(path)) return CONSOLE_PATH
  const { pathname } = new URL(path, 'http://console')
  return pathname.startsWith(CONSOLE_PATH) && !pathname.includes('//') ? path : CONSOLE_PATH
}
