/** Lets the console's server make a call. */

import { request } from '../../api/client.ts'
import type { TryAnswer } from '../../../console-server/tries.ts'
import type { TryCall } from './try-call.ts'

export type { TryAnswer }

/** Throws `CallRefused`. */
export async function sendTry(call: TryCall): Promise<TryAnswer> {
  const headers = { 'content-type': 'application/json' }
  const response = await request('/console/try', { method: 'POST', headers, body: JSON.stringify(call) })
  return (await response.json()) as TryAnswer
}
