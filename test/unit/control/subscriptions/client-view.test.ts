import { describe, expect, it } from 'vitest'
import type { CredentialBody } from '../../../../src/control/access/credential-document.ts'
import { toClientView } from '../../../../src/control/subscriptions/client-view.ts'

const NOW_MS = 1_000
const BOUND = 'A'.repeat(43)

function credential(type: CredentialBody['type'], more: Partial<CredentialBody> = {}): CredentialBody {
  return {
    ...{ subscription: 'sub_1', type, clientId: 'cli_1', clientSecret: '', secretHash: '', apiKey: '', keyHash: '' },
    ...{ scopes: [], apiProductId: '', state: 'Active', expiresAtMs: NOW_MS + 1, ...more },
  }
}

describe('the client of a subscription', () => {
  it('has each type once, and each certificate', () => {
    const credentials = [
      credential('OAuth2', { certificateThumbprint: BOUND }),
      credential('OAuth2'),
      credential('ApiKey'),
    ]
    expect(toClientView(credentials, NOW_MS)).toEqual({
      securityTypes: ['ApiKey', 'OAuth2'],
      federated: null,
      certificateThumbprints: [BOUND, null],
    })
  })

  it('has the client of another issuer', () => {
    const federated = { issuer: 'https://login.example', clientId: 'app' }
    expect(toClientView([credential('Federated', federated)], NOW_MS)).toMatchObject({ federated })
  })

  it.each([
    ['revoked', { state: 'Revoked' }],
    ['expired', { expiresAtMs: NOW_MS }],
    ['replaced', { isReplaced: true }],
  ] as const)('has nothing of a credential that is %s', (_, more) => {
    const expected = { securityTypes: [], federated: null, certificateThumbprints: [] }
    expect(toClientView([credential('OAuth2', more)], NOW_MS)).toEqual(expected)
  })
})
