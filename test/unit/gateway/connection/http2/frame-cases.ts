/** Cases of the connection, of streams and of frames (RFC 9113, 3.4 to 6). */

import {
  CALM,
  COMPRESSION,
  FLOW_CONTROL,
  FRAME_SIZE,
  PROTOCOL,
  STREAM_CLOSED,
  GET,
  goaway,
  open,
  padded,
  rst,
  type Case,
} from './cases.ts'
import * as h2 from './frames.ts'

export const FRAME_CASES: readonly Case[] = [
  // 3.4 and 4: the connection and its frames.
  {
    name: 'closes a connection with another preface',
    isRaw: true,
    send: [Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    expected: 'closed',
  },
  { name: 'ignores frames of an unknown type', send: [h2.frame(0x42, 0xff, 0, Buffer.alloc(8))], expected: 'ignored' },
  { name: 'ignores undefined flags', send: [h2.frame(h2.PING, 0xfe, 0, Buffer.alloc(8))], expected: 'ignored' },
  { name: 'ignores the reserved bit', send: [h2.frame(h2.PING, 0, 0x8000_0000, Buffer.alloc(8))], expected: 'ignored' },
  {
    name: 'refuses a DATA frame above 16 KB',
    send: [open(), h2.frame(h2.DATA, 0, 1, Buffer.alloc(16_385))],
    expected: goaway(FRAME_SIZE),
  },
  {
    name: 'refuses a head in a frame above 16 KB',
    send: [h2.frame(h2.HEADERS, h2.WHOLE, 1, Buffer.alloc(16_385))],
    expected: goaway(FRAME_SIZE),
  },
  // 4.3: header blocks.
  {
    name: 'refuses a header block that cannot be read',
    send: [h2.frame(h2.HEADERS, h2.WHOLE, 1, Buffer.from([0x80]))],
    expected: goaway(COMPRESSION),
  },
  {
    name: 'refuses an index that does not exist',
    send: [h2.frame(h2.HEADERS, h2.WHOLE, 1, Buffer.from([0xff, 0xff, 0xff, 0x7f]))],
    expected: goaway(COMPRESSION),
  },
  {
    name: 'refuses a table larger than its settings',
    send: [h2.frame(h2.HEADERS, h2.WHOLE, 1, Buffer.from([0x3f, 0xff, 0xff, 0x7f]))],
    expected: goaway(COMPRESSION),
  },
  {
    name: 'refuses other frames within a head',
    send: [h2.headers(1, GET, h2.END_STREAM), h2.ping()],
    expected: goaway(PROTOCOL),
  },
  {
    name: 'refuses another head within a head',
    send: [h2.headers(1, GET, h2.END_STREAM), h2.headers(3)],
    expected: goaway(PROTOCOL),
  },
  {
    name: 'refuses a CONTINUATION of another stream',
    send: [h2.headers(1, GET, h2.END_STREAM), h2.frame(h2.CONTINUATION, h2.END_HEADERS, 3)],
    expected: goaway(PROTOCOL),
  },
  {
    name: 'refuses a CONTINUATION without a head',
    send: [h2.frame(h2.CONTINUATION, h2.END_HEADERS, 1)],
    expected: goaway(PROTOCOL),
  },
  {
    name: 'accepts a head in several frames',
    send: [
      h2.headers(1, GET.slice(0, 2), h2.END_STREAM),
      h2.frame(h2.CONTINUATION, h2.END_HEADERS, 1, h2.block(GET.slice(2))),
    ],
    expected: { status: 200 },
  },
  // 5.1: streams.
  { name: 'refuses DATA of an idle stream', send: [h2.data(1, 'x')], expected: goaway(PROTOCOL) },
  { name: 'refuses RST_STREAM of an idle stream', send: [h2.reset(1)], expected: goaway(PROTOCOL) },
  { name: 'refuses WINDOW_UPDATE of an idle stream', send: [h2.windowUpdate(1, 1)], expected: goaway(PROTOCOL) },
  {
    name: 'refuses DATA after the end of a request',
    send: [h2.headers(1, h2.pseudo('GET', '/never')), h2.data(1, 'x')],
    expected: goaway(STREAM_CLOSED),
  },
  {
    name: 'refuses a second head after the end of a request',
    send: [h2.headers(1, h2.pseudo('GET', '/never')), h2.headers(1)],
    expected: goaway(STREAM_CLOSED, PROTOCOL),
  },
  { name: 'refuses an even stream', send: [h2.headers(2)], expected: goaway(PROTOCOL) },
  {
    name: 'refuses a smaller stream than the last one',
    send: [h2.headers(1), h2.headers(5), h2.headers(3)],
    expected: goaway(PROTOCOL),
  },
  { name: 'refuses a head of stream 0', send: [h2.headers(0)], expected: goaway(PROTOCOL) },
  { name: 'refuses DATA of stream 0', send: [h2.data(0, 'x')], expected: goaway(PROTOCOL) },
  // 6: frames.
  {
    name: 'accepts padding',
    send: [h2.frame(h2.HEADERS, h2.WHOLE | h2.PADDED, 1, padded(h2.block(GET), 7))],
    expected: { status: 200 },
  },
  {
    name: 'refuses padding longer than a head',
    send: [h2.frame(h2.HEADERS, h2.WHOLE | h2.PADDED, 1, Buffer.from([9, 0x82]))],
    expected: goaway(PROTOCOL),
  },
  {
    name: 'refuses padding longer than DATA',
    send: [open(), h2.frame(h2.DATA, h2.PADDED, 1, Buffer.from([9, 1]))],
    expected: goaway(PROTOCOL),
  },
  {
    name: 'refuses RST_STREAM of another length',
    send: [open(), h2.frame(h2.RST_STREAM, 0, 1, Buffer.alloc(3))],
    expected: goaway(FRAME_SIZE),
  },
  { name: 'refuses RST_STREAM of stream 0', send: [h2.reset(0)], expected: goaway(PROTOCOL) },
  { name: 'refuses SETTINGS of a stream', send: [h2.frame(h2.SETTINGS, 0, 1)], expected: goaway(PROTOCOL) },
  {
    name: 'refuses SETTINGS of another length',
    send: [h2.frame(h2.SETTINGS, 0, 0, Buffer.alloc(5))],
    expected: goaway(FRAME_SIZE),
  },
  {
    name: 'refuses SETTINGS ACK with a payload',
    send: [h2.frame(h2.SETTINGS, h2.ACK, 0, Buffer.alloc(6))],
    expected: goaway(FRAME_SIZE),
  },
  {
    name: 'refuses a setting for push other than 0 and 1',
    send: [h2.settings([[h2.SETTING.push, 2]])],
    expected: goaway(PROTOCOL),
  },
  {
    name: 'refuses a setting for a window above 2^31 - 1',
    send: [h2.settings([[h2.SETTING.window, 0x8000_0000]])],
    expected: goaway(FLOW_CONTROL),
  },
  {
    name: 'refuses a setting for frames below 16 KB',
    send: [h2.settings([[h2.SETTING.frameSize, 16_383]])],
    expected: goaway(PROTOCOL),
  },
  { name: 'ignores unknown settings', send: [h2.settings([[0xff, 1]])], expected: 'ignored' },
  {
    name: 'refuses PUSH_PROMISE',
    send: [h2.frame(h2.PUSH_PROMISE, h2.END_HEADERS, 1, Buffer.alloc(4))],
    expected: goaway(PROTOCOL),
  },
  { name: 'refuses PING of a stream', send: [h2.frame(h2.PING, 0, 1, Buffer.alloc(8))], expected: goaway(PROTOCOL) },
  {
    name: 'refuses PING of another length',
    send: [h2.frame(h2.PING, 0, 0, Buffer.alloc(6))],
    expected: goaway(FRAME_SIZE),
  },
  { name: 'ignores PING ACK without PING', send: [h2.ping(h2.ACK)], expected: 'ignored' },
  {
    name: 'refuses GOAWAY of a stream',
    send: [h2.frame(h2.GOAWAY, 0, 1, Buffer.alloc(8))],
    expected: goaway(PROTOCOL),
  },
  { name: 'refuses an update of a window by 0', send: [h2.windowUpdate(0, 0)], expected: goaway(PROTOCOL) },
  {
    name: 'refuses an update of the window of a stream by 0',
    send: [open(), h2.windowUpdate(1, 0)],
    expected: rst(PROTOCOL),
  },
  {
    name: 'refuses a window above 2^31 - 1',
    send: [h2.windowUpdate(0, 0x7fff_ffff), h2.windowUpdate(0, 0x7fff_ffff)],
    expected: goaway(FLOW_CONTROL),
  },
  {
    name: 'refuses a window of a stream above 2^31 - 1',
    send: [open(), h2.windowUpdate(1, 0x7fff_ffff)],
    expected: rst(FLOW_CONTROL),
  },
  {
    name: 'refuses WINDOW_UPDATE of another length',
    send: [h2.frame(h2.WINDOW_UPDATE, 0, 0, Buffer.alloc(3))],
    expected: goaway(FRAME_SIZE),
  },
  {
    name: 'refuses PRIORITY of another length',
    send: [open(), h2.frame(h2.PRIORITY, 0, 1, Buffer.alloc(4))],
    expected: rst(FRAME_SIZE),
  },
  {
    name: 'refuses PRIORITY of stream 0',
    send: [h2.frame(h2.PRIORITY, 0, 0, Buffer.alloc(5))],
    expected: goaway(PROTOCOL),
  },
  { name: 'refuses DATA of an even stream', send: [h2.data(2, 'x')], expected: goaway(PROTOCOL) },
  {
    name: 'refuses GOAWAY of another length',
    send: [h2.frame(h2.GOAWAY, 0, 0, Buffer.alloc(7))],
    expected: goaway(FRAME_SIZE),
  },
  {
    name: 'refuses padded DATA without its length',
    send: [open(), h2.frame(h2.DATA, h2.PADDED, 1)],
    expected: goaway(FRAME_SIZE),
  },
  {
    name: 'refuses more DATA than the window of a stream',
    send: [open(), ...Array.from({ length: 4 }, () => h2.frame(h2.DATA, 0, 1, Buffer.alloc(16_384)))],
    expected: rst(FLOW_CONTROL),
  },
  {
    name: 'refuses a head in more frames than clients need',
    send: [
      h2.headers(1, GET, h2.END_STREAM),
      ...Array.from({ length: 17 }, () => h2.frame(h2.CONTINUATION, 0, 1, Buffer.from([0x82]))),
    ],
    expected: goaway(CALM),
  },
  {
    name: 'refuses a change of the table behind a field',
    send: [h2.frame(h2.HEADERS, h2.WHOLE, 1, Buffer.from([0x82, 0x20]))],
    expected: goaway(COMPRESSION),
  },
  {
    name: 'refuses an integer without an end',
    send: [h2.frame(h2.HEADERS, h2.WHOLE, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))],
    expected: goaway(COMPRESSION),
  },
  {
    name: 'refuses a text that is longer than its block',
    send: [h2.frame(h2.HEADERS, h2.WHOLE, 1, Buffer.from([0x00, 0x05, 0x61]))],
    expected: goaway(COMPRESSION),
  },
  {
    name: 'refuses a text with the code for the end',
    send: [h2.frame(h2.HEADERS, h2.WHOLE, 1, Buffer.from([0x04, 0x84, 0xff, 0xff, 0xff, 0xff]))],
    expected: goaway(COMPRESSION),
  },
  {
    name: 'refuses a text with too much padding',
    send: [h2.frame(h2.HEADERS, h2.WHOLE, 1, Buffer.from([0x04, 0x82, 0x07, 0xff]))],
    expected: goaway(COMPRESSION),
  },
  { name: 'ignores GOAWAY', send: [h2.frame(h2.GOAWAY, 0, 0, Buffer.alloc(8))], expected: 'ignored' },
  { name: 'ignores PRIORITY', send: [h2.frame(h2.PRIORITY, 0, 1, Buffer.alloc(5, 1))], expected: 'ignored' },
]
