/** Explains why calls are refused, by the id of a call, by a token, or by the start of an API key. */

import type {
  CredentialExplanations,
  ExplainedKey,
  ExplainedToken,
} from '../../control/access/credential-explanations.ts'
import { invalidAt } from '../../control/command/commands.ts'
import type { RequestStore } from '../../storage/store/request-store.ts'
import type { Call } from './operation.ts'
import { showRequest } from './request-shape.ts'

type Viewing = Pick<Call, 'author' | 'owner'>

interface ExplainCall extends Viewing {
  readonly body: {
    readonly id?: string
    readonly token?: string
    readonly keyPrefix?: string
    readonly api?: string
  }
}

export interface ExplainOptions {
  readonly requests: Pick<RequestStore, 'find'>
  readonly credentialExplanations: CredentialExplanations
  readonly storedRange: () => { readonly fromMs: number; readonly toMs: number }
  /** Throws `Problem('not_found')`. */
  readonly findRequest: (call: Viewing, id: string, signal: AbortSignal) => Promise<Record<string, unknown>>
}

interface Explained {
  readonly request: Record<string, unknown> | null
  readonly token: ExplainedToken | null
  readonly keys: readonly ExplainedKey[]
  readonly refused: readonly Record<string, unknown>[]
}

const NOTHING: Explained = { request: null, token: null, keys: [], refused: [] }
const REFUSED_MAX = 20
/** A start of a key belongs to one credential, except by chance. */
const CONSUMERS_MAX = 3

export function createExplain(options: ExplainOptions): (call: ExplainCall, signal: AbortSignal) => Promise<Explained> {
  const { credentialExplanations, findRequest } = options

  return async (call, signal) => {
    const { author, owner, body } = call
    const { id, token, keyPrefix, api } = body
    if ([id, token, keyPrefix].filter((each) => each !== undefined).length !== 1)
      throw invalidAt('', 'Send exactly one of id, token and keyPrefix.')
    if (api !== undefined && token === undefined) throw invalidAt('/api', 'Send api only with token.')
    const viewer = { tenant: author.tenant, owner }
    if (id !== undefined) return { ...NOTHING, request: await findRequest(call, id, signal) }
    if (token !== undefined) {
      const explained = await credentialExplanations.token(token, api ?? null, viewer)
      const { holder } = explained
      const refused = holder === null ? [] : await refusedCalls(options, call, [holder.consumer], signal)
      return { ...NOTHING, token: explained, refused }
    }
    const keys = await credentialExplanations.keys(keyPrefix ?? '', viewer)
    const consumers = [...new Set(keys.map(({ consumer }) => consumer))].slice(0, CONSUMERS_MAX)
    return { ...NOTHING, keys, refused: await refusedCalls(options, call, consumers, signal) }
  }
}

/** Returns the latest refused calls of the consumers. */
async function refusedCalls(
  { requests, storedRange }: ExplainOptions,
  { author }: Viewing,
  consumers: readonly string[],
  signal: AbortSignal,
): Promise<readonly Record<string, unknown>[]> {
  const shared = { tenant: author.tenant, ...storedRange(), isRefused: true, limit: REFUSED_MAX } as const
  const found = await Promise.all(consumers.map((customer) => requests.find({ ...shared, customer }, signal)))
  return found
    .flat()
    .sort((one, other) => other.timeMs - one.timeMs)
    .slice(0, REFUSED_MAX)
    .map(showRequest)
}
