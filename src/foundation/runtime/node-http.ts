/**
 * `node:http`, loaded without an import: an import evaluates all exports of the module, and with `WebSocket` all of `fetch`, which
 * takes 40 ms of CPU and 17 MB on each thread.
 */

import type * as Http from 'node:http'

const http: typeof Http = process.getBuiltinModule('node:http')

export const { createServer, request, METHODS, ServerResponse, STATUS_CODES } = http
