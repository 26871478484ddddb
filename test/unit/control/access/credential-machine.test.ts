import { describe, expect, it } from 'vitest'
import {
  credential,
  type CredentialEvent,
  type CredentialState,
} from '../../../../src/control/access/credential-machine.ts'
import { begin, step, type PersistedActor } from '../../../../src/control/command/persisted-machine.ts'

type Verb = CredentialEvent['type']
const VERBS: readonly Verb[] = ['expiring', 'expired', 'revoked']

/** For each state: the events that lead to it, and its transitions; all other events are refused. */
const STATES: Readonly<
  Record<CredentialState, { by: readonly Verb[]; to: Readonly<Partial<Record<Verb, CredentialState>>> }>
> = {
  Active: { by: [], to: { expired: 'Expired', expiring: 'Expiring', revoked: 'Revoked' } },
  Expiring: { by: ['expiring'], to: { expired: 'Expired', expiring: 'Expiring', revoked: 'Revoked' } },
  Expired: { by: ['expired'], to: {} },
  Revoked: { by: ['expiring', 'revoked'], to: {} },
}

function reach(verbs: readonly Verb[]): PersistedActor {
  return verbs.reduce<PersistedActor>(
    (from, type) => {
      const result = step(credential, JSON.parse(JSON.stringify(from)), { type })
      if ('refused' in result) throw new Error(`${type} was refused in ${result.refused.state}`)
      return result.next
    },
    begin(credential, undefined),
  )
}

describe.each(Object.entries(STATES))('a credential that is %s', (state, { by, to }) => {
  it('is reached, also by a snapshot restored from JSON', () => expect(reach(by).value).toBe(state))

  it.each(VERBS)('handles %s as the diagram shows', (type) => {
    const result = step(credential, reach(by), { type })
    const next = to[type]
    if (next !== undefined) return expect(result).toMatchObject({ next: { value: next } })
    expect(result).toEqual({ refused: { state, allowed: Object.keys(to) } })
  })
})
