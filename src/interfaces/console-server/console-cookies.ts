/**
 * The cookies of the console: the id of the session, and the state of a sign-in that is in progress.
 *
 * Scripts can read neither. The session is sent with requests from the console itself only; the state also with the redirect that
 * ends a sign-in, which comes from another site.
 *
 * Over https both have the `__Host-` prefix, so that a sibling domain cannot set them. Browsers send cookies to every port of a host:
 * if the gateway has the same one, it would forward the session to backends, so the cookies are then limited to the path of the
 * console, which no API has.
 */

export interface ConsoleCookies {
  readonly session: Cookie
  readonly signIn: Cookie
}

export interface Cookie {
  /** Returns null if the header does not have the cookie. */
  read(header: string | undefined): string | null
  /** Returns the value of `Set-Cookie`. */
  set(value: string): string
  clear(): string
}

const SIGN_IN_SECONDS = 600

export interface ConsoleCookiesOptions {
  readonly baseUrl: string
  readonly gatewayUrl: string
}

export function createConsoleCookies({ baseUrl, gatewayUrl }: ConsoleCookiesOptions): ConsoleCookies {
  const isSecure = baseUrl.startsWith('https:')
  const isAlone = new URL(baseUrl).hostname !== new URL(gatewayUrl).hostname
  const prefix = isSecure ? (isAlone ? '__Host-' : '__Secure-') : ''
  const secure = isSecure ? '; Secure' : ''
  const path = `Path=${isAlone ? '/' : '/console'}`
  const cookie = (name: string, attributes: string): Cookie => ({
    read: (header) => readCookie(header, prefix + name),
    set: (value) => `${prefix}${name}=${value}; ${path}; HttpOnly${secure}; ${attributes}`,
    clear: () => `${prefix}${name}=; ${path}; HttpOnly${secure}; ${attributes}; Max-Age=0`,
  })
  return {
    // Without Max-Age: it ends with the browser's session, and the service ends it before that.
    session: cookie('tollgate-console', 'SameSite=Strict'),
    signIn: cookie('tollgate-console-sign-in', `SameSite=Lax; Max-Age=${SIGN_IN_SECONDS}`),
  }
}

/** Returns null also if the cookie comes twice: one of them may have been set by another site. */
function readCookie(header: string | undefined, name: string): string | null {
  const found = (header ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=')
    return at > 0 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : []
  })
  return found.length === 1 ? found[0]! : null
}
