/** Tokens of an API whose canary allows other scopes: no call fails because its token has a scope of the other revision. */

import { describe, expect, it } from 'vitest'
import type { Caller } from '../../../src/boundary/plan/caller.ts'
import { get, openCanary } from '../../fixtures/test-canary.ts'
import { callerOf } from '../../fixtures/test-callers.ts'

const flow = { tokenUrl: 'https://login.example/token', scopes: { read: 'Read', write: 'Write' } }
const OAUTH = {
  components: { securitySchemes: { oauth: { type: 'oauth2', flows: { clientCredentials: flow } } } },
  security: [{ oauth: ['read'] }],
}
const callers = new Map<string, Caller>()
const bearer = (path: string, subscription: string, ...scopes: string[]): string =>
  get(path, `authorization: Bearer ${[subscription, ...scopes].join('+')}\r\n`)

/** The canary serves the subscription `chosen`; `/keyed` and `/new` require the scope `read`. */
const openScopes = (active: string[], canary: string[]) =>
  openCanary({
    root: OAUTH,
    scopes: { active, canary },
    authenticate(authorization = '') {
      const [subscription = '', ...scopes] = authorization.slice('Bearer '.length).split('+')
      const known = callers.get(authorization)
      if (known !== undefined) return known
      const caller: Caller = { ...callerOf(subscription, scopes), method: 'token' }
      callers.set(authorization, caller)
      return caller
    },
  })

describe('A token', () => {
  it('that has a scope of the active revision only is valid at a canary that allows fewer', async () => {
    const { gateway, dropCanary } = await openScopes(['read', 'write'], ['read'])
    expect(await gateway.raw(bearer('/keyed', 'chosen', 'read', 'write'))).toContain('<canary /keyed>')
    expect(await gateway.raw(bearer('/keyed', 'other', 'read', 'write'))).toContain('<stable /keyed>')
    dropCanary()
    expect(await gateway.raw(bearer('/keyed', 'chosen', 'read', 'write'))).toContain('<stable /keyed>')
  })

  it('that has a scope of the canary only is valid at the active revision until the canary ends', async () => {
    const { gateway, dropCanary } = await openScopes(['read'], ['read', 'write'])
    expect(await gateway.raw(bearer('/keyed', 'chosen', 'read', 'write'))).toContain('<canary /keyed>')
    expect(await gateway.raw(bearer('/keyed', 'other', 'read', 'write'))).toContain('<stable /keyed>')
    dropCanary()
    expect(await gateway.raw(bearer('/keyed', 'other', 'read', 'write'))).toContain('HTTP/1.1 403')
    expect(await gateway.raw(bearer('/keyed', 'other', 'read'))).toContain('<stable /keyed>')
  })

  it('opens no operation by a scope that only the other revision allows', async () => {
    const narrowed = await openScopes(['read', 'write'], ['write'])
    expect(await narrowed.gateway.raw(bearer('/keyed', 'chosen', 'read', 'write'))).toContain('HTTP/1.1 403')
    expect(await narrowed.gateway.raw(bearer('/keyed', 'other', 'read', 'write'))).toContain('<stable /keyed>')
    const widened = await openScopes(['write'], ['read', 'write'])
    expect(await widened.gateway.raw(bearer('/keyed', 'chosen', 'read', 'write'))).toContain('<canary /keyed>')
    expect(await widened.gateway.raw(bearer('/keyed', 'other', 'read', 'write'))).toContain('HTTP/1.1 403')
  })

  it('that has a scope of neither revision is refused by both', async () => {
    const { gateway } = await openScopes(['read'], ['read', 'write'])
    for (const subscription of ['chosen', 'other'])
      expect(await gateway.raw(bearer('/keyed', subscription, 'read', 'admin'))).toContain('HTTP/1.1 403')
  })
})
