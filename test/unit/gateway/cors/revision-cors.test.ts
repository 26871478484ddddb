import { describe, expect, it } from 'vitest'
import { compileCors } from '../../../../src/gateway/cors/revision-cors.ts'
import type { CorsPlan } from '../../../../src/boundary/plan/cors.ts'
import { compile, RESPONSES } from '../../documents/governance/serving/compiled-plans.ts'

const APP = 'https://app.example'
const header = (name: string) => ({ name, in: 'header', schema: { type: 'string' } })
const paths = {
  '/a': {
    get: { security: [], parameters: [header('X-Trace')], responses: RESPONSES },
    post: { security: [], parameters: [header('X-Trace'), header('If-Match')], responses: RESPONSES },
  },
}

async function compiled(cors: CorsPlan) {
  const { operations } = await compile(paths)
  return compileCors({ operations, cors })!
}

describe('the CORS rules of a revision', () => {
  it('are missing without a setting', async () => {
    expect(compileCors({ operations: (await compile(paths)).operations })).toBe(null)
  })

  it('accept the headers of credentials, of the setting, and of the operations of the path', async () => {
    const cors = await compiled({ origins: [APP], headers: ['x-tenant', 'x-trace'] })
    const methods = new Map([
      ['GET', 0],
      ['POST', 1],
    ])
    const lines = cors.preflightLines(APP, methods)
    expect(lines).toContain('Access-Control-Allow-Methods: GET, POST\r\n')
    expect(lines).toContain(
      'Access-Control-Allow-Headers: authorization, content-type, x-api-key, x-tenant, x-trace, if-match\r\n',
    )
    expect(cors.preflightLines(APP, methods)).toBe(lines)
    expect(cors.preflightLines(APP, new Map([['GET', 0]]))).not.toContain('if-match')
    expect(cors.preflightLines(APP, null)).toBe('Vary: Origin\r\n')
  })

  it('never allow credentials at the token endpoints', async () => {
    const cors = await compiled({ origins: [APP], credentials: true })
    expect(cors.calls.linesFor(APP)).toContain('Access-Control-Allow-Credentials: true')
    expect(cors.tokens.linesFor(APP)).toContain(`Access-Control-Allow-Origin: ${APP}\r\n`)
    expect(cors.tokens.linesFor(APP)).not.toContain('Credentials')
  })
})
