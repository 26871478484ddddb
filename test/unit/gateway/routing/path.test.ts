import { describe, expect, it } from 'vitest'
import { scanTarget } from '../../../../src/gateway/routing/path.ts'

describe('a request target', () => {
  it.each([
    ['/', 1],
    ['/a', 2],
    ['/a/', 3],
    ['/a/b?x=1', 4],
    ['/?x', 1],
    ['/a?x=/../%2F\\%00', 2],
    ['/a/%61', 6],
    ['/a/...', 6],
    ['/a/.b', 5],
    ['/a/b..', 6],
    ['/a/%C3%A9', 9],
    ['/a/%E2%82%AC/b', 14],
    ['/a/%F0%9F%98%80', 15],
    ['/a;x=1/b', 8],
    ["/a/!$&'()*+,=:@~-._", 19],
    ['/a/%25%32%66', 12],
  ])('%s is canonical, its path ends at %i', (target, end) => {
    expect(scanTarget(target)).toBe(end)
  })

  it.each([
    ['nothing', ''],
    ['an asterisk', '*'],
    ['absolute form', 'http://host/a'],
    ['authority form', 'host:80'],
    ['an empty segment', '/a//b'],
    ['an empty first segment', '//a'],
    ['two slashes at the end', '/a//'],
    ['a dot segment', '/a/./b'],
    ['a dot segment at the end', '/a/.'],
    ['two dots', '/a/../b'],
    ['two dots at the end', '/a/..'],
    ['two dots before the query', '/a/..?x'],
    ['encoded dots', '/a/%2e%2e/b'],
    ['an encoded dot', '/a/%2E'],
    ['half encoded dots', '/a/.%2e/b'],
    ['dots with a path parameter', '/a/..;x=1/b'],
    ['a dot with a path parameter', '/a/.;/b'],
    ['dots with an encoded semicolon', '/a/..%3bx/b'],
    ['encoded dots with a semicolon', '/a/%2e%2e;/b'],
    ['an encoded slash', '/a%2Fb'],
    ['an encoded slash in lower case', '/a%2fb'],
    ['a backslash', '/a\\b'],
    ['an encoded backslash', '/a%5Cb'],
    ['an encoded NUL', '/a%00'],
    ['an encoded line feed', '/a%0Ab'],
    ['an encoded DEL', '/a%7F'],
    ['a percent sign alone', '/a%'],
    ['one hex digit', '/a%2'],
    ['no hex digits', '/a%zz'],
    ['an escape cut short by the query', '/a%2?x'],
    ['a fragment', '/a#b'],
    ['a fragment behind the query', '/a?b#c'],
    ['a space', '/a b'],
    ['a tab in the query', '/a?b\tc'],
    ['a control character', '/a\u0001'],
    ['a letter beyond ASCII', '/\u00e9'],
    ['a letter beyond ASCII in the query', '/a?\u00e9'],
    ['a wide slash', '/a\uff0fb'],
    ['an overlong slash', '/a%C0%AFb'],
    ['an overlong dot', '/a/%C0%AE%C0%AE/b'],
    ['an overlong slash of three bytes', '/a%E0%80%AFb'],
    ['an overlong slash of four bytes', '/a%F0%80%80%AFb'],
    ['a surrogate', '/a%ED%A0%80'],
    ['a character beyond the last', '/a%F4%90%80%80'],
    ['a lone continuation byte', '/a%80'],
    ['a sequence cut short', '/a%E2%82'],
    ['a sequence broken by a letter', '/a%C3A9'],
    ['a byte that is never UTF-8', '/a%FF'],
  ])('with %s is not canonical', (_, target) => {
    expect(scanTarget(target)).toBe(-1)
  })

  it('is canonical only if a URL parser and a decoder do not change its segments', () => {
    const alphabet = ['a', '.', '/', '%2e', '%2F', '%5c', '\\', ';', '%', '%41', '?', '%c3%a9', '%c0%ae', '%00']
    let seed = 20_261
    const next = (): number => (seed = (seed * 48_271) % 2_147_483_647)
    for (let round = 0; round < 20_000; round++) {
      const target = `/${Array.from({ length: next() % 7 }, () => alphabet[next() % alphabet.length]).join('')}`
      const end = scanTarget(target)
      if (end < 0) continue
      const path = target.slice(0, end)
      expect(new URL(path, 'http://host').pathname, `target ${target}`).toBe(path)
      const decoded = path.split('/').map(decodeURIComponent)
      expect(decoded.slice(1, -1).includes(''), `target ${target}`).toBe(false)
      expect(
        decoded.some((segment) => /^\.{1,2}(;|$)|[/\\\0]/.test(segment)),
        `target ${target}`,
      ).toBe(false)
    }
  })
})
