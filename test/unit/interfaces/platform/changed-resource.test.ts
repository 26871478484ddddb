import { describe, expect, it } from 'vitest'
import { ALL_OPERATIONS } from '../../../../src/interfaces/platform/operations.ts'

/** Operations of other methods than GET that take no `If-Match`, and why. */
const WITHOUT: Readonly<Record<string, string>> = {
  ...because('creates a resource, which no client has read', [
    ...['createAdr', 'createConsumer', 'createEventSubscription', 'createIdentityProvider', 'createMute'],
    ...['createPrinciple', 'createProduct', 'createProgramme', 'createRole', 'createRuleset', 'createSubscription'],
    ...['createTenant', 'createUser', 'testEventSubscription'],
  ]),
  ...because('changes nothing', ['explainRefusal', 'validateOpenSlaSpec', 'validateSpecification']),
  ...because('removes a resource that has no GET of its own', [
    ...['endMySession', 'endSession', 'removeNode', 'removeRegisteredClient'],
  ]),
  ...because('acts on several resources', ['redeliver', 'rotateSigningKeys']),
}

function because(reason: string, operationIds: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(operationIds.map((operationId) => [operationId, reason]))
}

describe('an operation', () => {
  it('that changes a resource takes `If-Match`, except for a reason', () => {
    const without = Object.entries(ALL_OPERATIONS).filter(
      ([, { method, changes }]) => method !== 'GET' && changes === undefined,
    )
    expect(without.map(([operationId]) => operationId).toSorted()).toEqual(Object.keys(WITHOUT).toSorted())
  })

  it('names a GET as the one that reads what it changes', () => {
    for (const [operationId, { changes, changesOnly }] of Object.entries(ALL_OPERATIONS)) {
      for (const reader of [changes, changesOnly?.list])
        expect([operationId, reader === undefined ? 'GET' : ALL_OPERATIONS[reader]?.method]).toEqual([
          operationId,
          'GET',
        ])
    }
  })
})
