/** The ETag of the answer to a change lets a client make its next change without reading the resource again. */

import { expect, it } from 'vitest'
import { tagAnswer } from '../../../src/interfaces/platform/answer-tag.ts'
import type { Operation } from '../../../src/interfaces/platform/operation.ts'
import { ALL_OPERATIONS } from '../../../src/interfaces/platform/operations.ts'
import { createAll } from '../../fixtures/created-resources.ts'
import { openTestPlatform, type Answer, type TestPlatform } from '../../fixtures/test-platform.ts'

type Change = (method: string, path: string, body?: unknown) => Promise<Answer>

/** Returns the address of the resource in an answer: its `Location`, else the path up to the id of the answer. */
function addressOf(path: string, { headers, body }: Answer): string {
  const { location } = headers
  if (location !== undefined) return new URL(location).pathname
  const id = String(body['id'])
  return path.includes(id) ? path.slice(0, path.indexOf(id) + id.length) : path
}

/** Makes every call of `platform.send`, and compares the ETag of each answer to a change with that of a GET. */
function checking(platform: TestPlatform, token: string) {
  const tagged = new Set<string>()
  const untagged = new Set<string>()
  const send: TestPlatform['send'] = async (method, path, sending) => {
    const answer = await platform.send(method, path, sending)
    if (method === 'GET' || answer.status >= 300 || answer.status === 204) return answer
    const { operationId = '' } = platform.calls.at(-1) ?? {}
    const { etag } = answer.headers
    void (etag === undefined ? untagged : tagged).add(operationId)
    if (etag === undefined) return answer
    const read = await platform.send('GET', addressOf(path, answer), { token })
    expect([operationId, read.status, read.headers['etag']]).toEqual([operationId, 200, etag])
    return answer
  }
  return { tagged, untagged, checked: { ...platform, send } }
}

/** Changes of what `createAll` has made, by operation, with a body. */
async function changeAll(change: Change, locations: ReadonlyMap<string, string>): Promise<void> {
  const at = (operationId: string) => locations.get(operationId) ?? ''
  const labels = { labels: { team: 'red' } }
  for (const [operationId, path] of locations) {
    const isLabelled = ALL_OPERATIONS[operationId]?.status === 201 && operationId !== 'createMute'
    if (isLabelled && operationId !== 'createRole') await change('PATCH', path, labels)
  }
  await change('PUT', at('createRole'), { scopes: ['apis:read'], ...labels })
  await change('PATCH', at('createRole'), { description: 'Reads' })
  const consumer = at('createConsumer')
  await change('POST', `${consumer}/disable`)
  await change('POST', `${consumer}/enable`)
  const subscription = at('createSubscription')
  await change('POST', `${subscription}/suspend`)
  await change('POST', `${subscription}/resume`)
  await change('PUT', `${subscription}/scopes`, { scopes: ['payments:read'] })
  const { body: rotated } = await change('POST', `${subscription}/credentials/rotate`, {})
  await change('PATCH', `${subscription}/credentials/${String(rotated['id'])}`, labels)
  await change('POST', `${subscription}/cancel`)
  await change('POST', `${at('createEventSubscription')}/rotateSecret`)
  const user = at('createUser')
  for (const action of ['resetPassword', 'disable', 'enable', 'invite']) await change('POST', `${user}/${action}`)
  await change('PUT', at('createProduct'), { name: 'Bundle', apis: ['payments-v1'] })
  await change('POST', '/v1/proxies', { api: 'payments-v1', fromRevision: 1 })
  await change('POST', `${at('stageRevision')}/activate`)
  await change('POST', '/v1/proxies', { api: 'payments-v1', fromRevision: 1 })
  await change('POST', `${at('stageRevision')}/discard`)
  await change('PUT', '/v1/apis/payments-v1/policy', { subscriptionApproval: 'Manual' })
  await change('PATCH', '/v1/apis/payments-v1/policy', { exposure: 'Partner' })
  await change('PATCH', '/v1/apis/payments-v1', labels)
  const approval = { minScore: 80, allowErrors: false, allowBreaking: false, exposures: [] }
  await change('PUT', '/v1/policy', { approval })
  await change('PATCH', '/v1/policy', { secondFactor: 'off' })
  await change('POST', '/v1/apis/payments-v1/deprecate', { retirementDate: '2099-01-01T00:00:00Z' })
  await change('POST', '/v1/apis/payments-v1/retire', { force: true })
  await change('PATCH', at('requestTierChange').replace(/^.*approvalFlows/, '/v1/approvals'), labels)
  await change('PATCH', at('createProgramme').replace('/progress', ''), labels)
  const tenant = at('createTenant')
  for (const action of ['disable', 'enable']) await change('POST', `${tenant}/${action}`)
}

/** Answers that are not the resource, or not all of it. */
const UNTAGGED = [
  'createProgramme',
  'labelProgramme',
  'redeliver',
  'retryProgramme',
  'rotateCredentials',
  'updateCredential',
  'updateProgramme',
]
/** Need another caller; they never have an ETag. */
const NOT_CALLED = ['decide', 'decideOnProgramme', 'setUpTotp', 'updateMe', 'updatePortal']

it('the answer to a change has the ETag of a GET right after it, or none', async () => {
  const platform = await openTestPlatform()
  const token = platform.token('acme')
  const { tagged, untagged, checked } = checking(platform, token)
  const locations = new Map(
    (await createAll(checked, token)).map(({ operationId, location }) => [operationId, new URL(location).pathname]),
  )
  const { body: documents } = await platform.send('GET', '/v1/openapispecs', { token })
  const [document] = documents['items'] as readonly { readonly id: string }[]
  const change: Change = async (method, path, body) => {
    const answer = await checked.send(method, path, { token, ...(body !== undefined && { body }) })
    expect(answer.status, `${method} ${path} ${answer.text}`).toBeLessThan(300)
    return answer
  }
  await change('PATCH', `/v1/openapispecs/${document?.id}`, { labels: { team: 'red' } })
  await changeAll(change, locations)

  expect([...untagged].sort()).toEqual(UNTAGGED)
  const isChange = ([, { method, status, changes }]: [string, Operation]) =>
    method !== 'GET' && status !== 204 && (changes !== undefined || status === 201)
  const called = new Set([...tagged, ...untagged])
  const others = Object.entries(ALL_OPERATIONS).filter((each) => isChange(each) && !called.has(each[0]))
  expect(others.map(([operationId]) => operationId).sort()).toEqual(NOT_CALLED)
  for (const [, operation] of others) expect(tagAnswer(ALL_OPERATIONS, operation)({})).toBe(null)
})
