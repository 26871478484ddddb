/** A sign-in with a code that the person enters in a browser elsewhere (RFC 8628). */

import { setTimeout as pause } from 'node:timers/promises'
import { CommandFailed } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { toPlain } from '../output/plain-text.ts'
import { issuerOf, OauthRefused, postForm, requestTokens, type Tokens } from './tokens.ts'

export interface DeviceLoginOptions {
  readonly gatewayUrl: string
  readonly clientId: string
  readonly io: Io
}

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const SLOW_DOWN_SECONDS = 5

export async function loginOnDevice({ gatewayUrl, clientId, io }: DeviceLoginOptions): Promise<Tokens> {
  const begun = await postForm(`${gatewayUrl}/oauth2/v2/device_authorization`, {
    client_id: clientId,
    resource: issuerOf(gatewayUrl),
  })
  const { device_code: code, user_code: userCode, verification_uri: address } = begun
  if (typeof code !== 'string' || typeof userCode !== 'string' || typeof address !== 'string') {
    throw new CommandFailed('The device authorization endpoint answered without a code.')
  }
  io.err.write(`Open ${toPlain(address)} in a browser, and enter the code\n\n  ${toPlain(userCode)}\n\n`)
  return await poll({ gatewayUrl, clientId, code, io, ...timesOf(begun) })
}

interface Poll extends DeviceLoginOptions {
  readonly code: string
  readonly seconds: number
  readonly endMs: number
}

async function poll({ gatewayUrl, clientId, code, seconds, endMs, io }: Poll): Promise<Tokens> {
  const signal = io.interruptible()
  for (let wait = seconds; performance.now() < endMs;) {
    await pause(wait * 1000, undefined, { signal }).catch(() => {
      throw new CommandFailed('The sign-in was interrupted.')
    })
    try {
      return await requestTokens(gatewayUrl, { grant_type: GRANT, client_id: clientId, device_code: code })
    } catch (cause) {
      const reason = cause instanceof OauthRefused ? cause.code : ''
      if (reason === 'slow_down') wait += SLOW_DOWN_SECONDS
      else if (reason !== 'authorization_pending') throw cause
    }
  }
  throw new CommandFailed('The code has expired. Start the sign-in again.')
}

function timesOf({ interval, expires_in: expiresIn }: Readonly<Record<string, unknown>>) {
  const seconds = typeof interval === 'number' && interval >= 1 && interval <= 60 ? interval : 5
  const valid = typeof expiresIn === 'number' && expiresIn > 0 ? Math.min(expiresIn, 3600) : 600
  return { seconds, endMs: performance.now() + valid * 1000 }
}
