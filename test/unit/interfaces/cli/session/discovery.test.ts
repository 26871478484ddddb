import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { Io } from '../../../../../src/interfaces/cli/io.ts'
import { discover } from '../../../../../src/interfaces/cli/session/discovery.ts'
import { readVersion } from '../../../../../src/foundation/runtime/version.ts'

async function discoverAt(answer: object, status = 200) {
  const server = createServer((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', location: 'http://127.0.0.1:9/' })
    response.end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  let err = ''
  const io = { err: { write: (text: string) => void (err += text) } } as unknown as Io
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { service: await discover(baseUrl, io), baseUrl, err: () => err }
}

const addresses = { gatewayUrl: 'https://gateway.example', riskUrl: 'https://risks.example/', version: readVersion() }

it('discover returns the addresses of a service', async () => {
  const { service, baseUrl, err } = await discoverAt(addresses)
  expect(service).toEqual({ ...addresses, baseUrl, riskUrl: 'https://risks.example' })
  expect(err()).toBe('')
})

it('discover warns of a newer major version, with both versions', async () => {
  const { err } = await discoverAt({ ...addresses, version: '98.0.1' })
  expect(err()).toContain('98.0.1')
  expect(err()).toContain(readVersion())
})

it.each([
  [{ ...addresses, gatewayUrl: 'file:///etc/passwd' }, 200, 'must be an http or https address'],
  [{ ...addresses, gatewayUrl: 'https://user:secret@gateway.example' }, 200, 'must be an http or https address'],
  [{ version: 1 }, 200, 'is not the platform address'],
  [[], 200, 'is not the platform address'],
  [addresses, 302, 'answered 302'],
])('discover refuses %j with status %i', async (answer, status, reason) => {
  await expect(discoverAt(answer, status)).rejects.toThrow(reason)
})
