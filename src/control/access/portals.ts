/**
 * The portal of a tenant: the part of the console for the people of its consumers, with the name, the logo and the colour of the
 * tenant.
 *
 * The logo is a document of its own, so that the tenant stays small. While the portal is off, such people cannot sign in to the
 * console; the platform API still serves their tokens.
 */

import { createHash } from 'node:crypto'
import { commit, find, invalidAt } from '../command/commands.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { documentKind, type Author, type Registry, type Write } from '../../storage/store/registry.ts'
import { LOGO_BYTES_MAX, LOGO_PIXELS_MAX, readLogo } from './logo-image.ts'
import { findTenant, TENANT_KIND, tenantLock, tenantWrite, type TenantBody } from './platform-access.ts'

export interface Portal {
  readonly enabled: boolean
  /** Null: that of the product. */
  readonly name: string | null
  /** `#rrggbb`. Null: that of the product. */
  readonly colour: string | null
  /** A path below the platform's address. */
  readonly logoUrl: string | null
}

export interface PortalChange {
  readonly enabled?: boolean
  readonly name?: string | null
  readonly colour?: string | null
  /** An image in base64. Null removes the logo. */
  readonly logo?: string | null
}

export interface Logo {
  readonly mediaType: string
  readonly bytes: Buffer
}

/** Shown before the sign-in. */
export type Brand = Omit<Portal, 'enabled'>

export interface Portals {
  get(tenant: string): Promise<Portal>
  /** Throws `Problem('payload_invalid')` for a logo that is no image. */
  update(author: Author, tenant: string, change: PortalChange): Promise<Portal>
  /** Returns the same for an organisation that does not exist, has no brand, or has no portal. */
  brandOf(organisation: string): Promise<Brand>
  logo(tenant: string): Promise<Logo | null>
  isEnabled(tenant: string): Promise<boolean>
}

export interface PortalsOptions {
  readonly registry: Registry
  readonly mutex: KeyedMutex
}

interface LogoBody {
  readonly mediaType: string
  /** Base64. */
  readonly data: string
}

const LOGO_KIND = documentKind<LogoBody>('tenant_logo', ['mediaType'], 'exported')
const NO_BRAND: Brand = { name: null, colour: null, logoUrl: null }

export function createPortals({ registry, mutex }: PortalsOptions): Portals {
  const bodyOf = async (tenant: string): Promise<TenantBody | undefined> =>
    (await registry.get(TENANT_KIND, tenant))?.body

  return {
    get: async (tenant) => showPortal(tenant, (await bodyOf(tenant)) ?? {}),
    update: (author, tenant, change) =>
      mutex.runExclusive([tenantLock(tenant)], async () => {
        const { revision, body } = await find(registry, tenant, TENANT_KIND, tenant)
        const { portal, writes } = await changePortal(registry, tenant, body, change)
        const next = { ...body, portal }
        await commit(registry, author, 'portal.update', [tenantWrite(tenant, revision, next), ...writes])
        return showPortal(tenant, next)
      }),
    async brandOf(organisation) {
      const tenant = await findTenant(registry, organisation)
      const body = tenant === null ? undefined : await bodyOf(tenant)
      if (tenant === null || body === undefined) return NO_BRAND
      const { enabled, ...brand } = showPortal(tenant, body)
      return enabled ? brand : NO_BRAND
    },
    async logo(tenant) {
      const found = await registry.get(LOGO_KIND, tenant)
      if (found === null || (await bodyOf(tenant))?.portal?.isDisabled === true) return null
      return { mediaType: found.body.mediaType, bytes: Buffer.from(found.body.data, 'base64') }
    },
    isEnabled: async (tenant) => (await bodyOf(tenant))?.portal?.isDisabled !== true,
  }
}

/** Returns the portal after the change, and the writes of its logo for the same commit. The caller holds the lock of the tenant. */
export async function changePortal(
  registry: Registry,
  tenant: string,
  { portal = {} }: Pick<TenantBody, 'portal'>,
  change: PortalChange,
): Promise<{ readonly portal: NonNullable<TenantBody['portal']>; readonly writes: readonly Write[] }> {
  const next = changed(portal, change)
  return { portal: next, writes: change.logo === undefined ? [] : await logoWrites(registry, tenant, change.logo) }
}

export function showPortal(tenant: string, { portal = {} }: Pick<TenantBody, 'portal'>): Portal {
  const { isDisabled = false, name = null, colour = null, logo } = portal
  return {
    enabled: !isDisabled,
    name,
    colour,
    logoUrl: logo === undefined ? null : `/console/logo/${tenant}?v=${logo}`,
  }
}

function changed(
  before: NonNullable<TenantBody['portal']>,
  { enabled, name, colour, logo }: PortalChange,
): NonNullable<TenantBody['portal']> {
  const next = {
    isDisabled: enabled === undefined ? before.isDisabled : !enabled,
    name: name === undefined ? before.name : (name ?? undefined),
    colour: colour === undefined ? before.colour : colour?.toLowerCase(),
    logo: logo === undefined ? before.logo : logo === null ? undefined : versionOf(decode(logo)),
  }
  return {
    ...(next.isDisabled === true && { isDisabled: true }),
    ...(next.name !== undefined && { name: next.name }),
    ...(next.colour !== undefined && { colour: next.colour }),
    ...(next.logo !== undefined && { logo: next.logo }),
  }
}

async function logoWrites(registry: Registry, tenant: string, logo: string | null): Promise<readonly Write[]> {
  const found = await registry.get(LOGO_KIND, tenant)
  if (found === null && logo === null) return []
  const at = { kind: LOGO_KIND, id: tenant, tenant, expected: found?.revision ?? 0 }
  if (logo === null) return [{ ...at, body: null }]
  const bytes = decode(logo)
  return [{ ...at, body: { mediaType: checked(bytes), data: bytes.toString('base64') } }]
}

function decode(logo: string): Buffer {
  const bytes = Buffer.from(logo, 'base64')
  checked(bytes)
  return bytes
}

/** Returns the media type. */
function checked(bytes: Buffer): string {
  if (bytes.length > LOGO_BYTES_MAX) throw invalidLogo(`The logo must have at most ${LOGO_BYTES_MAX} bytes.`)
  const image = readLogo(bytes)
  if (image === null) throw invalidLogo('The logo must be a PNG, JPEG or WebP image.')
  const { width, height, mediaType } = image
  if (width < 1 || height < 1 || width > LOGO_PIXELS_MAX || height > LOGO_PIXELS_MAX) {
    throw invalidLogo(`The logo must be at most ${LOGO_PIXELS_MAX} pixels wide and high.`)
  }
  return mediaType
}

function invalidLogo(detail: string): Error {
  return invalidAt('/logo', detail)
}

function versionOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16)
}
