/** People find out in the console why calls are refused: by the id of a call, by a token, and by the start of a key. */

// @module-tag chromium

import { execFileSync } from 'node:child_process'
import type { Page } from 'playwright-core'
import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { activate, enterText, goTo } from './console-keyboard.ts'
import { useConsole } from './console-stage.ts'
import { expectUsable } from './console-visit.ts'
import { ledgerDocument } from './ledger-backend.ts'
import { enrol, publish, type Enrolled, type Service } from './service.ts'

const HOSTILE = '<img src=x onerror="document.title=1">\u202eevil'
let service: Service
let caller: Enrolled

const { signIn } = useConsole({}, async (stage) => {
  ;({ service } = stage)
  const other = { ...ledgerDocument(), info: { title: 'Other', version: '1.0.0' } }
  await publish(service, 'other-v1', other, stage.backend.url)
  caller = await enrol(service, 'ledger-v1', { name: HOSTILE, kind: 'agent' })
})

async function call(headers: Readonly<Record<string, string>>, api = 'ledger-v1') {
  const answer = await request(`${service.gatewayUrl}/${api}/entries?n=1`, { headers })
  await answer.body.dump()
  return { status: answer.statusCode, id: String(answer.headers['x-request-id']) }
}

const withKey = (key: string) => call({ 'x-api-key': key })

describe('a refused call', () => {
  it('is explained by its id, by a token and by the start of a key', async () => {
    const { platform } = service
    const { token: fetchToken, apiKey, subscription } = caller
    const token = await fetchToken()
    const wrongApi = await call({ authorization: `Bearer ${token}` }, 'other-v1')
    expect(wrongApi.status).toBe(401)
    await platform.post(`/v1/subscriptions/${subscription}/suspend`)
    expect((await withKey(apiKey)).status).toBe(403)
    await platform.post(`/v1/subscriptions/${subscription}/resume`)

    const { page, errors } = await signIn('admin', 'console/requests/explain')
    const explain = async (text: string, api = '') => {
      await page.getByLabel('Request id, token, or API key').fill(text)
      if (api !== '') await page.getByLabel('API that was called').fill(api)
      await page.getByRole('button', { name: 'Explain', exact: true }).click()
    }
    const main = page.getByRole('main')
    await explain(`Bearer ${token}`)
    await page.getByRole('heading', { name: 'The token Valid' }).waitFor()
    await expect.poll(() => retried(explain, token, main), POLL).toContain(wrongApi.id)
    await main.getByText('<img src=x onerror', { exact: false }).first().waitFor()
    expect(page.url()).not.toContain(token.slice(0, 20))
    await page.getByRole('button', { name: 'As a script' }).click()
    expect(await page.getByRole('dialog').innerText()).not.toContain(token.slice(0, 20))
    await page.keyboard.press('Escape')
    await explain(token, 'other-v1')
    await page.getByRole('heading', { name: 'The token For another API' }).waitFor()
    await page.getByText('The token was issued for another API.').waitFor()

    await main.getByRole('link', { name: wrongApi.id }).click()
    await page.getByText('Authenticate: refused').waitFor()
    await page.getByText('Authorise: not reached').waitFor()

    await explain(apiKey)
    await page.getByText(`API keys that begin with ${apiKey.slice(0, 8)}`).waitFor()
    await page.getByText('A call is admitted, if its operation and its limits admit it.').waitFor()
    expect(new URL(page.url()).search).toBe(`?key=${apiKey.slice(0, 8)}`)
    expect(await page.content()).not.toContain(apiKey.slice(0, 12))
    await expectUsable(page)

    const own = await platform.get<{ items: { id: string; type: string }[] }>(
      `/v1/subscriptions/${subscription}/credentials`,
    )
    for (const { id } of own.items) await platform.delete(`/v1/subscriptions/${subscription}/credentials/${id}`)
    await explain(token)
    await page.getByRole('heading', { name: 'The token Credential revoked' }).waitFor()
    await explain('eyJhbGciOiJub25lIn0.e30.eA')
    await page.getByRole('heading', { name: 'The token Not known here' }).waitFor()
    expect(errors).toEqual([])
    expectNotKept(token)
  })

  it('is explained with the keyboard alone, by its id, by a token and by the start of a key', async () => {
    const { platform } = service
    const { token: fetchToken, apiKey, subscription } = await enrol(service, 'ledger-v1', { name: 'Keyboard' })
    const token = await fetchToken()
    const { id } = await call({ authorization: `Bearer ${token}` }, 'other-v1')
    await expect.poll(() => platform.get(`/v1/requests/${id}`).catch(() => null), POLL).toMatchObject({ status: 401 })
    await platform.post(`/v1/subscriptions/${subscription}/suspend`)
    const { page, errors } = await signIn('security')
    await goTo(page, 'q')
    await page.getByRole('link', { name: 'Explain a refusal' }).waitFor()
    await activate(page, 'Explain a refusal')
    await page.getByText('Paste what you have.', { exact: false }).waitFor()
    const asked = 'Request id, token, or API key'
    await enterText(page, asked, id)
    await page.keyboard.press('Enter')
    await page.getByText('Authenticate: refused').waitFor()
    await enterText(page, asked, token)
    await enterText(page, 'API that was called', 'other-v1')
    await activate(page, 'Explain')
    await page.getByText('The token was issued for another API.').waitFor()
    await enterText(page, asked, apiKey.slice(0, 8))
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: `API keys that begin with ${apiKey.slice(0, 8)}` }).waitFor()
    await page.getByText('The subscription is not active.').waitFor()
    // The whole way to the subscription, on which it can be resumed.
    await page.getByRole('link', { name: subscription }).waitFor()
    expect(errors).toEqual([])
    expectNotKept(token)
  })
})

const POLL = { timeout: 20_000, interval: 500 }

/** A call is stored some seconds after it has ended. */
async function retried(
  explain: (text: string) => Promise<void>,
  token: string,
  main: ReturnType<Page['getByRole']>,
): Promise<string> {
  await explain(token)
  return main.innerText()
}

/** Neither the output of the service nor its data folder has the signature of the token. */
function expectNotKept(token: string): void {
  const signature = token.split('.')[2]!
  expect(service.output() + service.errors()).not.toContain(signature)
  const found = execFileSync('sh', ['-c', `grep -rlF -e "$1" "$2" || true`, 'sh', signature, service.dataDir])
  expect(found.toString()).toBe('')
}
