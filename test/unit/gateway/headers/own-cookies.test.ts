import { expect, it } from 'vitest'
import { withoutOwnCookies } from '../../../../src/gateway/headers/own-cookies.ts'

it.each([
  ['a=1; b=2', 'a=1; b=2'],
  ['__Host-tollgate-console=secret', ''],
  ['__Secure-tollgate-console=secret', ''],
  ['a=1; tollgate-browser=x; b=2', 'a=1; b=2'],
  ['__Host-tollgate-device=x; a=1', 'a=1'],
  ['a=1;tollgate-console-sign-in=x', 'a=1'],
  ['a=1; __HOST-TOLLGATE-console=x', 'a=1'],
  ['my-tollgate-cookie=1; a=tollgate-browser', 'my-tollgate-cookie=1; a=tollgate-browser'],
  [';;  tollgate-a=1;', ';;'],
  ['', ''],
])('keeps, in "%s", only "%s"', (header, others) => {
  expect(withoutOwnCookies(header)).toBe(others)
})
