/** Commands of the command line tool against the platform API, over HTTP. */

import { createServer } from 'node:http'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { publishApi } from '../../fixtures/published-api.ts'
import { runProgram } from '../../fixtures/run-program.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'
import { listen } from '../../fixtures/test-backend.ts'

const POLICY = '/v1/apis/payments-v1/policy'
const MANUAL = { subscriptionApproval: 'Manual', exposure: 'Partner' }

let platform: TestPlatform
let token: string
/** Runs before the service receives a change. */
let beforeChange: () => Promise<void>
let tollgate: (...args: readonly string[]) => ReturnType<typeof runProgram>

beforeEach(async () => {
  platform = await openTestPlatform()
  token = platform.token('acme')
  beforeChange = async () => {}
  await publishApi(platform, token)
  const { app } = platform.server
  await app.ready()
  const server = createServer(async (request, response) => {
    if (request.method !== 'GET') await beforeChange()
    app.routing(request, response)
  })
  const port = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const env = { TOLLGATE_URL: `http://127.0.0.1:${port}`, TOLLGATE_TOKEN: token }
  tollgate = (...args) => runProgram(args, env)
})

const send = async (method: string, path: string, body?: object) =>
  (await platform.send(method, path, { token, ...(body !== undefined && { body }) })).body

it('tollgate apis set-policy keeps what is not given', async () => {
  await send('PUT', POLICY, MANUAL)
  expect(await tollgate('apis', 'set-policy', 'payments-v1', '--mcp', 'true')).toMatchObject({ code: 0 })
  expect(await send('GET', POLICY)).toMatchObject({ ...MANUAL, mcp: true })
})

it.each([
  ['apis set-policy payments-v1 --mcp true', POLICY, { tokenAlgorithm: 'RS256' }],
  ['policy set --second-factor required', '/v1/policy', { approval: { minScore: 61 } }],
  ['roles update helper --description Helps', '/v1/roles/helper', { scopes: ['apis:read'] }],
])('tollgate %s changes nothing if another change comes after it has begun', async (command, path, other) => {
  await send('POST', '/v1/roles', { name: 'helper', scopes: [] })
  let changed: object = {}
  beforeChange = async () => void (changed = await send('PATCH', path, other))
  const { code, out, err } = await tollgate(...command.split(' '))
  expect([code, out, err]).toEqual([1, '', expect.stringContaining('412')])
  expect(changed).toMatchObject(other)
  expect(await send('GET', path)).toEqual(changed)
})

it('tollgate search prints the resources that begin with the text that follows', async () => {
  expect(await tollgate('search', 'paym', '-o', 'name')).toEqual({ code: 0, out: 'payments-v1\n', err: '' })
  expect(await tollgate('search', 'PAYM')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^\S*KIND +ID .*\napi +payments-v1 .*\n$/i),
  })
  expect(await tollgate('search', 'nothing')).toEqual({
    code: 0,
    out: '',
    err: 'No API, consumer, subscription, product, programme or person has an id or a name that begins with this text.\n',
  })
  expect(await tollgate('search')).toMatchObject({ code: 2, err: expect.stringContaining("'text'") })
})
