import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createApiClient, explainProblem } from '../../../../../src/interfaces/cli/session/api-client.ts'

const answer = (status: number, body: string) => ({ status, headers: new Headers(), body: Buffer.from(body) })

it('explainProblem returns the detail, the code, the request id and each location', () => {
  const errors = [{ pointer: '/name', detail: 'must be a string' }]
  const problem = {
    title: 'Invalid',
    detail: 'The body does not match.',
    code: 'payload_invalid',
    requestId: 'r1',
    errors,
  }
  expect(explainProblem(answer(400, JSON.stringify(problem)))).toBe(
    'The body does not match. (400, payload_invalid, request r1)\n  /name: must be a string',
  )
})

it('explainProblem names the line and the column once, and no empty pointer', () => {
  const errors = [
    { pointer: '', detail: 'must be an object' },
    { pointer: '/paths', detail: 'must be an object', line: 3, column: 5 },
    { pointer: '/info', detail: 'does not parse (line 4, column 2).', line: 4, column: 2 },
    { pointer: '/a', detail: 'is unknown', line: 9 },
  ]
  expect(explainProblem(answer(400, JSON.stringify({ detail: 'No.', errors })))).toBe(
    'No. (400)\n  must be an object\n  /paths: must be an object (line 3, column 5)\n' +
      '  /info: does not parse (line 4, column 2).\n  /a: is unknown (line 9)',
  )
})

it('explainProblem returns the changes of a document that break its callers, and how many more there are', () => {
  const removed = { message: 'The operation was removed.', operations: ['GET /a', 'PUT /a'], line: 7 }
  const changes = [removed, { message: 'The API requires more.', operations: [] }]
  const problem = { detail: 'The document has breaking changes.', code: 'breaking_change', changes }
  expect(explainProblem(answer(409, JSON.stringify(problem)))).toBe(
    'The document has breaking changes. (409, breaking_change)\n' +
      '  GET /a, PUT /a: The operation was removed. (line 7)\n  The API requires more.',
  )
  const many = JSON.stringify({ ...problem, changes: Array<object>(25).fill(removed) })
  expect(explainProblem(answer(409, many)).split('\n')).toHaveLength(22)
  expect(explainProblem(answer(409, many))).toMatch(/\n {2}and 5 more$/)
})

it.each(['', '<html>', 'null', '[]', '{"detail":5,"errors":{"a":1}}', '{"errors":[null,5]}'])(
  'explainProblem survives the body %j',
  (body) => expect(explainProblem(answer(502, body))).toContain('502'),
)

it('explainProblem sends no control characters to the terminal', () => {
  expect(explainProblem(answer(400, '{"detail":"a\\u001b[2Jb"}'))).not.toContain('\u001b')
})

/** Calls a server that names pending nodes, and returns the warnings. */
async function warningsOf(pending: string | null): Promise<readonly string[]> {
  const server = createServer((_, response) => {
    if (pending !== null) response.setHeader('Tollgate-Pending-Nodes', pending)
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const warnings: string[] = []
  const client = createApiClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    context: null,
    service: () => Promise.reject(new Error('the test has no discovery')),
    token: async () => '',
    warn: (sentence) => void warnings.push(sentence),
  })
  expect(await client.call({ method: 'POST', path: '/v1/things' })).toEqual({})
  return warnings
}

it('an answer that names pending nodes is shown with a warning', async () => {
  expect(await warningsOf('b, c')).toEqual([
    'These nodes have not applied the change yet: b, c. See: tollgate nodes list',
  ])
  expect(await warningsOf('*')).toEqual([expect.stringContaining('their list cannot be read')])
  expect(await warningsOf(null)).toEqual([])
})
