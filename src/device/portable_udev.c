/* SPDX-License-Identifier: MIT
 *
 * Stand-ins for libudev in the portable build.  Distributions build the static
 * hwloc archive with udev, which it asks for the properties of block devices.
 * tcbtune never loads those (I/O discovery is off), and a binary that needs
 * nothing but glibc cannot have libudev, so these definitions satisfy the
 * linker and say that there is no device.
 */
#include <stddef.h>

struct udev;
struct udev_device;

struct udev *udev_new(void);
struct udev *udev_unref(struct udev *udev);
struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem, const char *name);
const char *udev_device_get_property_value(struct udev_device *device, const char *key);
struct udev_device *udev_device_unref(struct udev_device *device);

struct udev *udev_new(void)
{
	return NULL;
}

struct udev *udev_unref(struct udev *udev)
{
	return udev;
}

struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem, const char *name)
{
	(void)udev, (void)subsystem, (void)name;
	return NULL;
}

const char *udev_device_get_property_value(struct udev_device *device, const char *key)
{
	(void)device, (void)key;
	return NULL;
}

struct udev_device *udev_device_unref(struct udev_device *device)
{
	return device;
}
