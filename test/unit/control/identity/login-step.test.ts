import { describe, expect, it } from 'vitest'
import { toSharedClientGrant } from '../../../../src/boundary/plan/grant.ts'
import type { OauthAnswer } from '../../../../src/boundary/plan/oauth-call.ts'
import { openFederatedLogin, type FederatedLogin } from '../../../fixtures/federated-login.ts'
import { backOf, hidden, type Browser } from '../../../fixtures/login-endpoints.ts'
import { API, GATEWAY_URL } from '../../../fixtures/token-endpoints.ts'

const NAMES = ['acme', 'rival', 'unknown nobody']

/** Opens the sign-in page of a client whose organisation is named by a stranger. */
async function open({ login }: FederatedLogin, tenant: string): Promise<{ browser: Browser; page: OauthAnswer }> {
  login.grant = toSharedClientGrant(tenant, 'The command line')
  const browser = login.browser()
  return { browser, page: await browser.open({ resource: `${GATEWAY_URL}/${API}` }) }
}

/** Returns an answer without what is random. */
function constantOf(page: OauthAnswer): unknown {
  const { 'Set-Cookie': _, ...headers } = page.headers
  return { status: page.status, headers, body: String(page.body).replace(hidden(page), '') }
}

describe('the sign-in page of a client without an organisation', () => {
  it('is the same for an organisation with a provider, one without, and one that does not exist', async () => {
    const server = await openFederatedLogin()
    const pages = await Promise.all(NAMES.map((name) => open(server, name)))
    const [first, ...others] = pages.map(({ page }) => constantOf(page))
    expect(others).toEqual([first, first])
    expect(pages[0]?.page.body).toContain('Continue with the provider of your organisation')
    expect(pages[0]?.page.body).not.toContain(new URL(server.provider.issuer).host)
  })

  it('is the same for all organisations after a wrong password', async () => {
    const server = await openFederatedLogin()
    const failed: unknown[] = []
    for (const name of NAMES) {
      const { browser, page } = await open(server, name)
      failed.push(constantOf(await browser.logIn(page, 'a wrong password')))
    }
    expect(failed).toEqual([failed[0], failed[0], failed[0]])
  })

  it('leads to a list of the providers of the organisation', async () => {
    const server = await openFederatedLogin()
    const { browser, page } = await open(server, 'acme')
    const list = await browser.submit(page, { provider: '', username: '', password: '' })
    expect(list.body).toContain(`Continue with ${new URL(server.provider.issuer).host}`)
    expect(list.headers['Content-Security-Policy']).toContain(' http:;')
    const there = backOf(await browser.submit(list, { provider: server.registered.id }))
    expect(there.origin).toBe(server.provider.issuer)
  })

  it('is shown again, with the same fault, for an organisation without a provider and one that does not exist', async () => {
    const server = await openFederatedLogin()
    const failed: unknown[] = []
    for (const name of NAMES.slice(1)) {
      const { browser, page } = await open(server, name)
      const again = await browser.submit(page, { provider: '' })
      expect(again).toMatchObject({ status: 400, body: expect.stringContaining('Password') })
      failed.push(constantOf(again))
    }
    expect(failed[1]).toEqual(failed[0])
  })
})
