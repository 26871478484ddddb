import { describe, expect, it } from 'vitest'
import { toHeadFields } from '../../../../../src/gateway/connection/http2/response-head.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'

describe('toHeadFields', () => {
  it('writes names in lower case, and keeps repeated ones', () => {
    const fields = toResponseFields(['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-A', ' b: c '])
    const head = [':status', '200', 'set-cookie', 'a=1', 'set-cookie', 'b=2', 'x-a', 'b: c']
    expect(toHeadFields(200, fields, -1)).toEqual(head)
  })

  it('drops the headers of a connection, however they are spelled', () => {
    const names = ['Connection', 'Keep-Alive', 'PROXY-CONNECTION', 'Transfer-Encoding', 'Upgrade', 'TE']
    const fields = toResponseFields(names.flatMap((name) => [name, 'a']))
    expect(toHeadFields(404, fields, -1)).toEqual([':status', '404'])
  })

  it('adds the length of a body if the fields lack it', () => {
    expect(toHeadFields(200, toResponseFields([]), 3)).toEqual([':status', '200', 'content-length', '3'])
    const fields = toResponseFields(['Content-Length', '4'])
    expect(toHeadFields(200, fields, 4)).toEqual([':status', '200', 'content-length', '4'])
  })
})
