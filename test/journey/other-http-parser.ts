/** Loaded before a service: Node's parser of responses behaves differently, as another version of Node might. */

import { createRequire } from 'node:module'
// `node:http` keeps the parser that it has now.
import 'node:http'

const common = createRequire(import.meta.url)('_http_common') as { HTTPParser: object }
const { HTTPParser } = common

common.HTTPParser = new Proxy(HTTPParser, {
  get: (target, name, receiver) => (name === 'kOnBody' ? -1 : Reflect.get(target, name, receiver)),
})
