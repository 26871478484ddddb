import { expect, it } from 'vitest'
import { addressesOf } from '../../../../../../src/interfaces/console/views/apis/backend-addresses.ts'

it('The addresses of a backend are its URL, or those of its targets', () => {
  expect(addressesOf({ url: 'https://a.example' })).toBe('https://a.example')
  expect(addressesOf({ targets: [{ url: 'https://a.example' }, { url: 'https://b.example' }] })).toBe(
    'https://a.example, https://b.example',
  )
})
