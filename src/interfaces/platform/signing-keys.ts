/** `/v1/signingkeys`: the keys that sign the tokens of all APIs of this gateway. */

import { pageOf } from '../../control/command/page.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, list, named, nullable, object, pagedQuery, time, whole } from './schemas.ts'

/** Port to the signing keys. */
export interface SigningKeys {
  list(): readonly {
    readonly id: string
    readonly algorithm: string
    readonly role: string
    readonly createdAtMs: number
    readonly publishedUntilMs: number | null
  }[]
  rotateNow(): Promise<void>
}

const key = named(
  'SigningKey',
  object({
    id,
    algorithm: { type: 'string', enum: ['ES256', 'RS256'] },
    role: { type: 'string', enum: ['next', 'signing', 'retired'] },
    createdAt: time,
    publishedUntil: nullable(time),
  }),
)
const tag = 'Identity'

export const SIGNING_KEY_OPERATIONS = {
  listSigningKeys: {
    method: 'GET',
    path: '/v1/signingkeys',
    summary: 'Lists the signing keys: current, next, and retired ones whose tokens have not all expired',
    tag,
    scope: 'platform:admin',
    query: pagedQuery(),
    status: 200,
    answer: list(key),
  },
  rotateSigningKeys: {
    method: 'POST',
    path: '/v1/signingkeys/rotate',
    summary: 'Rotates the signing keys: the next keys become current, and new next keys are published',
    tag,
    scope: 'platform:admin',
    status: 200,
    answer: whole(key, 100),
    problems: ['state_conflict'],
  },
} as const satisfies Operations

export function signingKeyHandlers({
  signingKeys: keys,
}: {
  readonly signingKeys: SigningKeys
}): Handlers<typeof SIGNING_KEY_OPERATIONS> {
  const show = () =>
    keys.list().map(({ createdAtMs, publishedUntilMs, ...shown }) => ({
      ...shown,
      createdAt: toTime(createdAtMs),
      publishedUntil: publishedUntilMs === null ? null : toTime(publishedUntilMs),
    }))
  return {
    listSigningKeys: async ({ query }) => pageOf(show(), query),
    async rotateSigningKeys() {
      await keys.rotateNow()
      return { items: show(), next: null }
    },
  }
}

function toTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}
