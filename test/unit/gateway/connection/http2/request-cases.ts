/** Cases of requests (RFC 9113, 8). */

import { PROTOCOL, GET, POST_HEAD, get, open, rst, without, type Case } from './cases.ts'
import * as h2 from './frames.ts'

export const REQUEST_CASES: readonly Case[] = [
  { name: 'refuses a name in upper case', send: [get(['X-A', 'b'])], expected: rst(PROTOCOL) },
  {
    name: 'refuses an unknown pseudo-header',
    send: [h2.headers(1, [...GET, [':other', 'a']])],
    expected: rst(PROTOCOL),
  },
  {
    name: 'refuses a pseudo-header of a response',
    send: [h2.headers(1, [...GET, [':status', '200']])],
    expected: rst(PROTOCOL),
  },
  {
    name: 'refuses a pseudo-header behind a header',
    send: [h2.headers(1, [...GET.slice(0, 3), ['x-a', 'b'], GET[3]!])],
    expected: rst(PROTOCOL),
  },
  {
    name: 'refuses a repeated pseudo-header',
    send: [h2.headers(1, [...GET, [':path', '/']])],
    expected: rst(PROTOCOL),
  },
  { name: 'refuses a request without a method', send: [without(':method')], expected: rst(PROTOCOL) },
  { name: 'refuses a request without a scheme', send: [without(':scheme')], expected: rst(PROTOCOL) },
  { name: 'refuses a request without a path', send: [without(':path')], expected: rst(PROTOCOL) },
  { name: 'refuses an empty path', send: [h2.headers(1, h2.pseudo('GET', ''))], expected: rst(PROTOCOL) },
  { name: 'refuses a relative path', send: [h2.headers(1, h2.pseudo('GET', 'a'))], expected: rst(PROTOCOL) },
  { name: 'refuses Connection', send: [get(['connection', 'x-a'])], expected: rst(PROTOCOL) },
  { name: 'refuses Keep-Alive', send: [get(['keep-alive', 'timeout=5'])], expected: rst(PROTOCOL) },
  { name: 'refuses Proxy-Connection', send: [get(['proxy-connection', 'close'])], expected: rst(PROTOCOL) },
  { name: 'refuses Transfer-Encoding', send: [get(['transfer-encoding', 'chunked'])], expected: rst(PROTOCOL) },
  { name: 'refuses Upgrade', send: [get(['upgrade', 'h2c'])], expected: rst(PROTOCOL) },
  { name: 'refuses TE other than trailers', send: [get(['te', 'gzip'])], expected: rst(PROTOCOL) },
  { name: 'accepts TE: Trailers', send: [get(['te', 'Trailers'])], expected: { status: 200 } },
  { name: 'accepts TE: trailers', send: [get(['te', 'trailers'])], expected: { status: 200 } },
  { name: 'refuses a line break in a value', send: [get(['x-a', 'b\r\nc: d'])], expected: rst(PROTOCOL) },
  { name: 'refuses a line feed in a value', send: [get(['x-a', 'b\nc'])], expected: rst(PROTOCOL) },
  { name: 'refuses a zero byte in a value', send: [get(['x-a', 'b\0'])], expected: rst(PROTOCOL) },
  { name: 'refuses a control character in a value', send: [get(['x-a', 'b\x7f'])], expected: rst(PROTOCOL) },
  {
    name: 'refuses a line break in an authority',
    send: [h2.headers(1, h2.pseudo('GET', '/', 'a\r\nb: c'))],
    expected: rst(PROTOCOL),
  },
  {
    name: 'refuses a line break in a path',
    send: [h2.headers(1, h2.pseudo('GET', '/\r\nb: c'))],
    expected: rst(PROTOCOL),
  },
  { name: 'refuses a line break in a method', send: [h2.headers(1, h2.pseudo('GET\r\n'))], expected: rst(PROTOCOL) },
  { name: 'answers a value that begins with a space with 400', send: [get(['x-a', ' b'])], expected: { status: 400 } },
  { name: 'answers a value that ends with a tab with 400', send: [get(['x-a', 'b\t'])], expected: { status: 400 } },
  {
    name: 'refuses a path with a space behind it',
    send: [h2.headers(1, h2.pseudo('GET', '/ '))],
    expected: rst(PROTOCOL),
  },
  {
    name: 'accepts an empty value, and spaces within one',
    send: [get(['accept', ''], ['user-agent', 'a b'])],
    expected: { status: 200 },
  },
  { name: 'refuses a space in a name', send: [get(['x a', 'b'])], expected: rst(PROTOCOL) },
  { name: 'refuses a line break in a name', send: [get(['x\r\na', 'b'])], expected: rst(PROTOCOL) },
  { name: 'refuses a zero byte in a name', send: [get(['x\0', 'b'])], expected: rst(PROTOCOL) },
  { name: 'refuses a colon in a name', send: [get(['x:a', 'b'])], expected: rst(PROTOCOL) },
  { name: 'refuses an empty name', send: [get(['', 'b'])], expected: rst(PROTOCOL) },
  {
    name: 'refuses a line break in a trailer',
    send: [open(), h2.data(1, 'x'), h2.headers(1, [['x-a', 'b\r\nc']])],
    expected: rst(PROTOCOL),
  },
  {
    name: 'refuses a body shorter than its length',
    send: [h2.headers(1, [...POST_HEAD, ['content-length', '2']], h2.END_HEADERS), h2.data(1, 'x', h2.END_STREAM)],
    expected: rst(PROTOCOL),
  },
  {
    name: 'refuses a body longer than its length',
    send: [h2.headers(1, [...POST_HEAD, ['content-length', '1']], h2.END_HEADERS), h2.data(1, 'xy', h2.END_STREAM)],
    expected: rst(PROTOCOL),
  },
  { name: 'refuses a length without a body', send: [get(['content-length', '1'])], expected: rst(PROTOCOL) },
  {
    name: 'refuses two lengths',
    send: [get(['content-length', '0'], ['content-length', '0'])],
    expected: rst(PROTOCOL),
  },
  { name: 'refuses a length with a leading zero', send: [get(['content-length', '00'])], expected: rst(PROTOCOL) },
  { name: 'refuses a length with a sign', send: [get(['content-length', '+0'])], expected: rst(PROTOCOL) },
  {
    name: 'refuses a pseudo-header in trailers',
    send: [open(), h2.headers(1, [[':path', '/']])],
    expected: rst(PROTOCOL),
  },
  {
    name: 'refuses trailers that do not end the request',
    send: [open(), h2.headers(1, [['x-a', 'b']], h2.END_HEADERS)],
    expected: rst(PROTOCOL),
  },
  {
    name: 'answers CONNECT with 400',
    send: [
      h2.headers(1, [
        [':method', 'CONNECT'],
        [':authority', 'a.example:443'],
      ]),
    ],
    expected: { status: 400 },
  },
  {
    name: 'refuses extended CONNECT',
    send: [h2.headers(1, [...h2.pseudo('CONNECT'), [':protocol', 'websocket']])],
    expected: rst(PROTOCOL),
  },
  { name: 'answers two different hosts with 400', send: [get(['host', 'b.example'])], expected: { status: 400 } },
  { name: 'accepts the same host twice', send: [get(['host', 'a.example'])], expected: { status: 200 } },
  {
    name: 'answers another scheme with 400',
    send: [h2.headers(1, h2.pseudo('GET', '/', 'a.example', 'ftp'))],
    expected: { status: 400 },
  },
  {
    name: 'answers more than 16 KB of headers with 431',
    send: [
      h2.headers(1, [...GET, ['x-a', 'b'.repeat(16_000)]], h2.END_STREAM),
      h2.frame(h2.CONTINUATION, h2.END_HEADERS, 1, h2.block([['x-b', 'b'.repeat(300)]])),
    ],
    expected: { status: 431 },
  },
  {
    name: 'accepts trailers, which it drops',
    send: [open(), h2.data(1, 'x'), h2.headers(1, [['x-a', 'b']])],
    expected: { status: 200 },
  },
]
