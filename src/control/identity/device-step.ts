/**
 * The steps of a sign-in for a device that differ from other sign-ins: the person enters the user code first (RFC 8628, 3.3), and sees a
 * page at the end.
 *
 * The form is sealed for the browser like those of the other steps, so that no other site can submit it. A code in the address is
 * only shown, and the person submits it.
 */

import { faultPage } from './authorize-pages.ts'
import type { AuthorizeRequest } from './authorize-request.ts'
import type { DeviceCodes, EnteredCode } from './device-codes.ts'
import { deviceAllowedPage, deviceRefusedPage, userCodePage } from './device-pages.ts'
import type { DeviceThrottle } from './device-throttle.ts'
import { createLoginCookies, type LoginCookiesOptions } from './login-cookies.ts'
import type { OauthAnswer, OauthCall } from '../../boundary/plan/oauth-call.ts'
import { createSeals } from './sealed-transaction.ts'
import type { Login } from './token-grants.ts'

/** A device that waits for the answer of a sign-in. */
export type WaitingDevice = Pick<EnteredCode, 'id' | 'userCode'>

export interface DeviceStep {
  /** Returns the page that asks for the code of a device, or the request of the device whose code was entered. */
  enter(
    call: Pick<OauthCall, 'method' | 'form' | 'cookie'>,
  ): Promise<{ readonly page: OauthAnswer } | { readonly browser: string; readonly request: AuthorizeRequest }>
  /** Gives the device the sign-in and returns the last page. */
  allow(device: WaitingDevice, login: Login): Promise<OauthAnswer>
  refuse(device: WaitingDevice, reason: string): Promise<OauthAnswer>
}

export interface DeviceStepOptions extends LoginCookiesOptions {
  readonly deviceCodes: Pick<DeviceCodes, 'enter' | 'allow' | 'deny'>
  readonly deviceThrottle: DeviceThrottle
  readonly lifetimeMs: number
}

const WRONG_CODE = 'The code is wrong, or it has expired. Check the device.'
const EXPIRED = 'This page has expired, or it was opened in another browser. Check that your browser accepts cookies.'
const SHOWN_LENGTH_MAX = 32

export function createDeviceStep(options: DeviceStepOptions): DeviceStep {
  const { deviceCodes, deviceThrottle, gatewayUrl } = options
  const seals = createSeals<object>({ ...options, stage: 'device code' })
  const cookies = createLoginCookies(options)

  function show(browser: string, userCode: string, fault: string | null, status = 200, more = {}): OauthAnswer {
    const transaction = seals.seal({}, browser)
    return userCodePage({ transaction, userCode: userCode.slice(0, SHOWN_LENGTH_MAX), fault }, status, more)
  }

  /** Returns the code, or the page that asks again. */
  async function check(browser: string, userCode: string): Promise<EnteredCode | { readonly page: OauthAnswer }> {
    // Counted before the look-up, so that concurrent attempts count like consecutive ones.
    const waitSeconds = await deviceThrottle.begin(browser)
    if (waitSeconds > 0) {
      const fault = `Too many attempts. Try again in ${Math.ceil(waitSeconds / 60)} min.`
      return { page: show(browser, userCode, fault, 429, { 'Retry-After': String(waitSeconds) }) }
    }
    const code = await deviceCodes.enter(userCode)
    if (code === null) return { page: show(browser, userCode, WRONG_CODE, 400) }
    await deviceThrottle.succeed(browser)
    return code
  }

  return {
    async enter({ method, form, cookie }) {
      const fields = new Map(form)
      const userCode = fields.get('user_code') ?? ''
      if (method === 'GET') {
        const { browser, headers } = cookies.ensureBrowser(cookie)
        return { page: show(browser, userCode, null, 200, headers) }
      }
      const browser = cookies.readBrowser(cookie)
      const isOwnForm = browser !== null && seals.open(fields.get('transaction') ?? '', browser) !== null
      if (!isOwnForm) return { page: faultPage(EXPIRED) }
      const code = await check(browser, userCode)
      return 'page' in code ? code : { browser, request: toRequest(gatewayUrl, code) }
    },
    async allow({ id }, login) {
      const isAllowed = await deviceCodes.allow(id, login)
      return isAllowed ? deviceAllowedPage() : deviceRefusedPage('The code of the device has expired, or it was used.')
    },
    async refuse({ id }, reason) {
      await deviceCodes.deny(id)
      return deviceRefusedPage(reason)
    },
  }
}

/** The pages return to this service, and never to an address of the client. */
function toRequest(gatewayUrl: string, { id, userCode, request }: EnteredCode): AuthorizeRequest {
  const redirectUri = `${gatewayUrl}/oauth2/v2/device`
  return { ...request, redirectUri, challenge: '', nonce: null, state: null, device: { id, userCode } }
}
