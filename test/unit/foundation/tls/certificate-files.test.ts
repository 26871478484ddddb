import { rmSync } from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import {
  readCertificates,
  type Certificates,
  type TlsSettings,
} from '../../../../src/foundation/tls/certificate-files.ts'
import { createCertificateFolder } from '../../../fixtures/certificate-folder.ts'
import { createTestAuthority } from '../../../fixtures/test-certificates.ts'

const authority = createTestAuthority()
afterAll(() => authority.remove())

const gateway = authority.sign('gw.example.test')
const other = authority.sign('api.example.test,*.api.example.test,127.0.0.1')

const read = (settings: Partial<TlsSettings>, previous: Certificates | null = null): Promise<Certificates> =>
  readCertificates({ pair: null, folder: null, clientCaFile: null, ...settings }, previous)

it('reads a pair, with the names of the certificate and the day of its end', async () => {
  const folder = createCertificateFolder()
  folder.put('gw', gateway)
  const pair = { certFile: folder.at('gw.crt'), keyFile: folder.at('gw.key') }
  const { fallback, faults } = await read({ pair })
  expect(faults).toEqual([])
  expect(fallback?.names).toEqual(['gw.example.test'])
  expect(Math.round((fallback!.expiresMs - Date.now()) / 86_400_000)).toBe(30)
})

it('finds the pairs of a folder, also those of Kubernetes and of Certbot, and leaves others out', async () => {
  const folder = createCertificateFolder()
  folder.put('api', other)
  folder.write('k8s/tls.crt', gateway.cert)
  folder.write('k8s/tls.key', gateway.key)
  folder.write('live/fullchain.pem', Buffer.concat([gateway.cert, authority.cert]))
  folder.write('live/privkey.pem', gateway.key)
  folder.write('README', 'certificates')
  folder.write('authority.pem', authority.cert)
  const { others, faults } = await read({ folder: folder.path })
  expect(faults).toEqual([])
  expect(others.map(({ file }) => file.slice(folder.path.length + 1)).toSorted()).toEqual([
    'api.crt',
    'k8s/tls.crt',
    'live/fullchain.pem',
  ])
  const names = others.find(({ file }) => file.endsWith('api.crt'))?.names
  expect(names).toEqual(['api.example.test', '*.api.example.test'])
})

it.each([
  ['no certificate', { 'gw.crt': 'nothing', 'gw.key': gateway.key }, 'it contains no certificate in PEM'],
  ['another key', { 'gw.crt': gateway.cert, 'gw.key': other.key }, 'belongs to another certificate'],
  ['no key', { 'gw.crt': gateway.cert, 'gw.key': 'secret' }, 'is not in PEM, or has a passphrase'],
  ['a missing key', { 'gw.crt': gateway.cert }, 'or its key, does not exist'],
])('says that a pair has %s, and never shows the key', async (_, files, fault) => {
  const folder = createCertificateFolder()
  for (const [name, text] of Object.entries(files)) folder.write(name, text)
  const pair = { certFile: folder.at('gw.crt'), keyFile: folder.at('gw.key') }
  const { fallback, faults } = await read({ pair })
  expect(fallback).toBeNull()
  expect(faults).toEqual([expect.stringContaining(fault)])
  expect(faults[0]).not.toContain('PRIVATE')
})

it('keeps what was read before if a file cannot be read', async () => {
  const folder = createCertificateFolder()
  folder.put('api', other)
  folder.put('gw', gateway)
  folder.write('ca.pem', authority.cert)
  const pair = { certFile: folder.at('gw.crt'), keyFile: folder.at('gw.key') }
  const settings = { pair, folder: folder.path, clientCaFile: folder.at('ca.pem') }
  const before = await read(settings)
  folder.write('gw.key', other.key)
  folder.write('api.crt', 'nothing')
  folder.write('ca.pem', 'nothing')
  const after = await read(settings, before)
  expect(after.faults).toHaveLength(4)
  expect({ ...after, faults: [] }).toEqual(before)
})

it('keeps the certificates of a folder that has become empty, if there are no others', async () => {
  const folder = createCertificateFolder()
  folder.put('api', other)
  const before = await read({ folder: folder.path })
  rmSync(folder.at('api.crt'))
  const after = await read({ folder: folder.path }, before)
  expect(after.others).toEqual(before.others)
  expect(after.faults).toEqual([expect.stringContaining('it contains no certificate with a key')])
})

it('presents the certificate that expires later if two have the same name', async () => {
  const folder = createCertificateFolder()
  folder.put('a', authority.sign('gw.example.test'))
  folder.put('b', authority.sign('gw.example.test'))
  const { others } = await read({ folder: folder.path })
  const [first, second] = others
  expect(first!.expiresMs).toBeGreaterThanOrEqual(second!.expiresMs)
})
