# Objects, precompiled headers and what make knows of their headers hold paths. A file `where` says where its folder was when it
# was written: what depends on that file is built again in a folder that was moved or copied.
.PHONY: always
.PRECIOUS: %/where
%/where: always
	@mkdir -p $(@D)
	@echo $(abspath $(@D)) | cmp -s - $@ || echo $(abspath $(@D)) > $@
