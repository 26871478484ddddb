import { describe, expect, it } from 'vitest'
import { createCorsRules } from '../../../../src/gateway/cors/cors-rules.ts'

const APP = 'https://app.example'
const VARY = 'Vary: Origin\r\n'

describe('the lines of a response', () => {
  it.each([
    undefined,
    '',
    'null',
    'https://evil.example',
    `${APP}/`,
    `${APP}.`,
    `${APP}:443`,
    'https://APP.example',
    `${APP}, ${APP}`,
    ` ${APP}`,
    `${APP}\r\nX: y`,
    `${APP}\0`,
    '__proto__',
  ])('allow nothing for the origin %j', (origin) => {
    const rules = createCorsRules({ origins: [APP] })
    expect(rules.linesFor(origin)).toBe(VARY)
    expect(rules.preflightLines(origin, 'GET', 'a')).toBe(VARY)
  })

  it('name an allowed origin, and expose the headers of the gateway and of the setting', () => {
    const lines = createCorsRules({ origins: [APP], exposeHeaders: ['x-total'] }).linesFor(APP)
    expect(lines).toMatch(/^Vary: Origin\r\nAccess-Control-Allow-Origin: https:\/\/app\.example\r\n/)
    expect(lines).toMatch(/^Access-Control-Expose-Headers: Deprecation, .*RateLimit, .*Retry-After, .*, x-total\r$/m)
    expect(lines).not.toContain('Credentials')
  })

  it('allow credentials for the origins of a list only', () => {
    const rules = createCorsRules({ origins: [APP], credentials: true })
    expect(rules.linesFor(APP)).toContain('\r\nAccess-Control-Allow-Credentials: true\r\n')
    expect(rules.linesFor('https://evil.example')).toBe(VARY)
  })

  it('name no origin if all are allowed, which excludes that of sandboxed pages', () => {
    const rules = createCorsRules({ origins: '*' })
    expect(rules.linesFor('https://any.example')).toContain('Access-Control-Allow-Origin: *\r\n')
    expect([undefined, '', 'null'].map((origin) => rules.linesFor(origin))).toEqual([VARY, VARY, VARY])
  })

  it('allow no page if the list is empty', () => {
    expect(createCorsRules({ origins: [] }).linesFor(APP)).toBe(VARY)
  })
})

describe('the answer to a preflight request', () => {
  it('lists methods and headers, and how long it is valid', () => {
    expect(createCorsRules({ origins: [APP], maxAge: 5 }).preflightLines(APP, 'GET, HEAD', 'authorization')).toBe(
      `${VARY}Access-Control-Allow-Origin: ${APP}\r\nAccess-Control-Allow-Methods: GET, HEAD\r\n` +
        'Access-Control-Allow-Headers: authorization\r\nAccess-Control-Max-Age: 5\r\n',
    )
    expect(createCorsRules({ origins: '*' }).preflightLines(APP, 'GET', 'a')).toContain('Access-Control-Max-Age: 600')
  })

  it('allows nothing at a path without methods', () => {
    expect(createCorsRules({ origins: '*' }).preflightLines(APP, '', '')).toBe(VARY)
  })
})
