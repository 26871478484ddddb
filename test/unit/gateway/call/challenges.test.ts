import { describe, expect, it } from 'vitest'
import { compileChallenges } from '../../../../src/gateway/call/challenges.ts'
import type { RoutePlan, SecurityAlternative } from '../../../../src/boundary/plan/route-plan.ts'

const TOKEN = { tokenScopes: ['read'], apiKey: false, keyScopes: [] }
const KEY = { tokenScopes: null, apiKey: true, keyScopes: [] }

const challengesOf = (...securities: readonly (readonly SecurityAlternative[])[]) =>
  compileChallenges(
    { api: 'orders-v1', operations: securities.map((security) => ({ security })) } as unknown as RoutePlan,
    'https://gateway.example',
  )

describe('the challenges of an API', () => {
  it('name the protected-resource metadata if an operation accepts tokens', () => {
    const metadata = 'resource_metadata="https://gateway.example/.well-known/oauth-protected-resource/orders-v1"'
    expect(challengesOf([], [KEY], [KEY, TOKEN])).toEqual({
      credential_missing: `Bearer ${metadata}`,
      credential_invalid: `Bearer error="invalid_token", ${metadata}`,
      subscription_required: null,
      metadata: `, ${metadata}`,
    })
  })

  it('name no metadata if only keys are accepted', () => {
    expect(challengesOf([], [KEY])).toEqual({
      credential_missing: 'Bearer',
      credential_invalid: 'Bearer error="invalid_token"',
      subscription_required: null,
      metadata: '',
    })
  })
})
