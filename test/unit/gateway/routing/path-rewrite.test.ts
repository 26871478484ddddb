import { expect, it } from 'vitest'
import { compileRewrite, rewriteTarget } from '../../../../src/gateway/routing/path-rewrite.ts'

const rewritten = (from: string, to: string, path: string, target = path): string | null => {
  const rewrite = compileRewrite({ from, to }, path)
  return rewrite === null ? null : rewriteTarget(rewrite, target)
}

it.each([
  ['/v1/pay', '/p', '/v1/pay/{id}', '/v1/pay/7?a=/v1', '/p/7?a=/v1'],
  ['/v1/pay', '/p', '/v1/pay', '/v1/pay', '/p'],
  ['/v1/pay', '/', '/v1/pay', '/v1/pay', '/'],
  ['/v1/pay', '/', '/v1/pay', '/v1/pay?a=1', '/?a=1'],
  ['/v1/pay', '/', '/v1/pay/{id}', '/v1/pay/7', '/7'],
  ['/', '/p', '/pay/{id}', '/pay/7', '/p/pay/7'],
  ['/', '/', '/pay', '/pay', '/pay'],
  ['/v1', '/api/v2', '/v1/', '/v1/', '/api/v2/'],
])('replaces %s by %s in %s', (from, to, path, target, expected) => {
  expect(rewritten(from, to, path, target)).toBe(expected)
})

it('keeps the other bytes as the client sent them', () => {
  expect(rewritten('/v1/pay', '/p', '/v1/pay/{id}', '/v%31/p%61y/%7e%41;b?c=%2f%2F?/')).toBe('/p/%7e%41;b?c=%2f%2F?/')
})

it.each([
  ['/v1/pay', '/v1/payments'],
  ['/v1/pay', '/v1'],
  ['/v1/pay', '/v2/pay'],
  ['/v1', '/{version}/pay'],
  ['/v1', '/V1/pay'],
])('does not change with %s the operation at %s', (from, path) => {
  expect(rewritten(from, '/p', path)).toBeNull()
})

it('changes nothing without a setting', () => {
  expect(compileRewrite(undefined, '/v1')).toBeNull()
})
