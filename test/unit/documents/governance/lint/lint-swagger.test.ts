import { expect, it } from 'vitest'
import { lint } from '../../../../../src/documents/governance/lint/lint.ts'
import { SWAGGER } from '../../../../fixtures/swagger-document.ts'

it('a Swagger 2.0 document has a finding for its conversion, and findings with their places in it', async () => {
  const { isServable, findings } = await lint(Buffer.from(SWAGGER))
  const places = findings.map(({ rule, pointer, line, column }) => `${rule} ${pointer} ${line}:${column}`)
  expect(isServable).toBe(true)
  expect(places).toContain('converted-document /swagger 1:1')
  expect(places).toContain('security-unbounded-string /paths/~1counts~1{id}/post/parameters/2 40:11')
  expect(places).toContain('example /paths/~1counts~1{id}/parameters/1 28:9')
  expect(new Set(places).size).toBe(places.length)
})
