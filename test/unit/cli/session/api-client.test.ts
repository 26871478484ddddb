import { expect, it } from 'vitest'
import { explainProblem } from '../../../../src/cli/session/api-client.ts'

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

it.each(['', '<html>', 'null', '[]', '{"detail":5,"errors":{"a":1}}', '{"errors":[null,5]}'])(
  'explainProblem survives the body %j',
  (body) => expect(explainProblem(answer(502, body))).toContain('502'),
)

it('explainProblem sends no control characters to the terminal', () => {
  expect(explainProblem(answer(400, '{"detail":"a\\u001b[2Jb"}'))).not.toContain('\u001b')
})
