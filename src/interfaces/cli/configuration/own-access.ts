/** The access with which a command runs. Without it, the command could not go on, nor its user undo that. */

import { isFields } from './resource.ts'

/** Returns the ids that a token names: of the consumer or the person, and of the subscription. A token in another form names none. */
export function ownAccess(token: string): ReadonlySet<string> {
  const [, payload = ''] = token.split('.')
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const { sub, subscription, act } = isFields(claims) ? claims : {}
    const agent = isFields(act) ? act['sub'] : undefined
    return new Set([sub, subscription, agent].filter((id) => typeof id === 'string'))
  } catch {
    return new Set()
  }
}
